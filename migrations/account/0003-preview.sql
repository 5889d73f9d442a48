-- RFC 8970: the first words of a message, for the list that a mail program shows. Made when it is first asked for.
ALTER TABLE message_meta ADD COLUMN preview TEXT; -- up to 200 characters, '' if there is nothing to show; NULL until it is made
