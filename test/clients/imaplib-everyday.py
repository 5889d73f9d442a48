"""Everyday work with Python's imaplib. Reads {host, port, security, certificate, user, password} from standard input."""

import imaplib
import json
import ssl
import sys
import time

settings = json.load(sys.stdin)
context = ssl.create_default_context(cafile=settings["certificate"])


def connect(password=settings["password"]):
    where = settings["host"], settings["port"]
    if settings["security"] == "tls":
        client = imaplib.IMAP4_SSL(*where, ssl_context=context)
    else:
        client = imaplib.IMAP4(*where)
        client.starttls(context)
    client.login(settings["user"], password)
    return client


def expect(reply, wanted, what):
    if reply != wanted:
        raise SystemExit(f"{what}: got {reply!r}, expected {wanted!r}")


def message(number):
    return (
        f"From: ada@example.net\r\nTo: anna@example.org\r\nSubject: lib {number}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n\r\n"
        f"Grüße {number}\r\n"
    ).encode()


try:
    connect("wrong")
    raise SystemExit("a wrong password was taken")
except imaplib.IMAP4.error:
    pass

client = connect()
expect(client.create("Post")[0], "OK", "create")
expect(client.create("Post")[0], "NO", "create twice")
for number in range(1, 11):
    flags = r"(\Seen)" if number % 2 == 0 else None
    reply = client.append("Post", flags, time.time() - 86400 * number, message(number))
    expect(reply[0], "OK", "append")
expect(client.select("Post"), ("OK", [b"10"]), "select")
expect(client.search(None, "UNSEEN"), ("OK", [b"1 3 5 7 9"]), "search")
client.literal = "Grüße 4".encode()
expect(client.search("UTF-8", "TEXT"), ("OK", [b"4"]), "search with a literal in UTF-8")
reply, data = client.fetch("1:3", "(UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[])")
expect([part[1] for part in data if isinstance(part, tuple)], [message(n) for n in (1, 2, 3)], "fetch")
reply, data = client.fetch("4", "(ENVELOPE BODYSTRUCTURE)")
expect(b'"lib 4"' in data[0], True, "envelope")
expect(client.store("1", "+FLAGS", r"(\Flagged Work)")[0], "OK", "store")
expect(client.search(None, "KEYWORD", "Work"), ("OK", [b"1"]), "search for a keyword")
expect(client.uid("COPY", "1:2", "Archive")[0], "OK", "copy")
expect(client.uid("MOVE", "3", "Trash")[0], "OK", "move")
expect(client.response("EXPUNGE")[1], [b"3"], "what the move took away")
expect(client.uid("STORE", "4:6", "+FLAGS.SILENT", r"(\Deleted)")[0], "OK", "uid store")
expect(client.expunge(), ("OK", [b"5", b"4", b"3"]), "expunge")
expect(client.copy("1", "Nowhere")[0], "NO", "copy to nowhere")
expect(client.status("Post", "(MESSAGES UNSEEN)"), ("OK", [b"Post (MESSAGES 6 UNSEEN 3)"]), "status")
expect(client.rename("Post", "Old/Post")[0], "OK", "rename")
expect(len(client.list('""', "Old*")[1]), 2, "list")
expect(client.subscribe("Old/Post")[0], "OK", "subscribe")
expect(any(b"Old/Post" in line for line in client.lsub()[1]), True, "lsub")
expect(client.namespace()[1], [b'(("" "/")) NIL NIL'], "namespace")
expect(client.close()[0], "OK", "close")
expect(client.delete("Old/Post")[0], "OK", "delete")

large = message("large") + (b"x" * 74 + b"\r\n") * 100_000
expect(client.append("INBOX", None, None, large)[0], "OK", "append of 7 MB")
client.select("INBOX", readonly=True)
expect(client.fetch("1", "(BODY.PEEK[])")[1][0][1] == large, True, "the same 7 MB back")
expect(client.fetch("1", "(BODY.PEEK[]<5000000.100>)")[1][0][1], large[5000000:5000100], "a part of it")
expect(client.logout()[0], "BYE", "logout")

client = connect()
expect(client.enable("UTF8=ACCEPT")[0], "OK", "enable")
expect(client.create('"Größe"')[0], "OK", "create in UTF-8")
expect(client.list('""', '"Gr*"')[1], ['(\\HasNoChildren) "/" "Größe"'.encode()], "list in UTF-8")
expect(client.select('"Größe"'), ("OK", [b"0"]), "select in UTF-8")
expect(client.unselect()[0], "OK", "unselect")
expect(client.logout()[0], "BYE", "logout")
print("done")
