import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBeside } from '../../helpers/beside.js'
import { select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

test('a new account has the usual mailboxes, subscribed, with their uses (RFC 6154 §2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a LIST "" "*"
    S: * LIST (\\HasNoChildren) "/" INBOX
    S~: * LIST (\\HasNoChildren \\Drafts) "/" Drafts
    S~: * LIST (\\HasNoChildren \\Sent) "/" Sent
    S~: * LIST (\\HasNoChildren \\Junk) "/" Junk
    S~: * LIST (\\HasNoChildren \\Trash) "/" Trash
    S~: * LIST (\\HasNoChildren \\Archive) "/" Archive
    S: a OK ...
    C: b LSUB "" "*"
    S: * LSUB () "/" INBOX
    S~: * LSUB () "/" Drafts
    S~: * LSUB () "/" Sent
    S~: * LSUB () "/" Junk
    S~: * LSUB () "/" Trash
    S~: * LSUB () "/" Archive
    S: b OK ...
    C: c LIST "" "*" RETURN (SPECIAL-USE)
    S: * LIST (\\HasNoChildren) "/" INBOX
    S~: * LIST (\\HasNoChildren \\Drafts) "/" Drafts
    S~: * LIST (\\HasNoChildren \\Sent) "/" Sent
    S~: * LIST (\\HasNoChildren \\Junk) "/" Junk
    S~: * LIST (\\HasNoChildren \\Trash) "/" Trash
    S~: * LIST (\\HasNoChildren \\Archive) "/" Archive
    S: c OK ...
    C: d LIST (SPECIAL-USE) "" "T*"
    S: * LIST (\\HasNoChildren \\Trash) "/" Trash
    S: d OK ...
    `
  )
})

test('LIST with an empty name tells the separator (RFC 3501 §6.3.8)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a LIST "" ""
    S: * LIST (\\Noselect) "/" ""
    S: a OK ...
    C: b LIST "" inbox
    S: * LIST (\\HasNoChildren) "/" INBOX
    S: b OK ...
    C: c LIST "" nowhere
    S: c OK ...
    `
  )
})

test('CREATE makes the levels above; DELETE of one that has mailboxes below leaves a \\Noselect name', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE work/2024/june/
    S: a OK ...
    C: b LIST "" "work*"
    S: * LIST (\\HasChildren) "/" work
    S: * LIST (\\HasChildren) "/" work/2024
    S: * LIST (\\HasNoChildren) "/" work/2024/june
    S: b OK ...
    C: c LIST "" "%"
    S: * LIST (\\HasNoChildren) "/" INBOX
    S: * LIST ...
    S: * LIST ...
    S: * LIST ...
    S: * LIST ...
    S: * LIST ...
    S: * LIST (\\HasChildren) "/" work
    S: c OK ...
    C: d LIST work/ "%"
    S: * LIST (\\HasChildren) "/" work/2024
    S: d OK ...
    C: e CREATE work
    S: e NO [ALREADYEXISTS] ...
    C: f DELETE work/2024
    S: f OK ...
    C: g LIST "" "work/%"
    S: * LIST (\\Noselect \\HasChildren) "/" work/2024
    S: g OK ...
    C: h SELECT work/2024
    S: h NO [NONEXISTENT] ...
    C: i DELETE work/2024
    S: i NO [HASCHILDREN] ...
    C: j CREATE work/2024
    S: j OK ...
    C: k DELETE work/2024/june
    S: k OK ...
    C: l DELETE work/2024/june
    S: l NO [NONEXISTENT] ...
    C: m DELETE INBOX
    S: m NO [CANNOT] ...
    C: n CREATE inbox
    S: n NO [ALREADYEXISTS] ...
    `
  )
})

test('RENAME takes the mailboxes below along; RENAME INBOX moves its messages and leaves it', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE old/child
    S: a OK ...
    C: b RENAME old new/name
    S: b OK ...
    C: c LIST "" "*e*/*"
    S: * LIST (\\HasChildren) "/" new/name
    S: * LIST (\\HasNoChildren) "/" new/name/child
    S: c OK ...
    C: d RENAME nothing x
    S: d NO [NONEXISTENT] ...
    C: e RENAME new/name Trash
    S: e NO [ALREADYEXISTS] ...
    C: f APPEND INBOX {4+}
    C: a: b
    S: f OK ...
    C: g RENAME INBOX keep
    S: g OK ...
    C: h STATUS keep (MESSAGES)
    S: * STATUS keep (MESSAGES 1)
    S: h OK ...
    C: i STATUS INBOX (MESSAGES)
    S: * STATUS INBOX (MESSAGES 0)
    S: i OK ...
    `
  )
})

test('RENAME of a mailbox to the level above it, whose name those below it repeat', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE up/up/x
    S: a OK ...
    C: b CREATE up/up/up/x
    S: b OK ...
    C: c APPEND up/up/up/x {4+}
    C: a: b
    S: c OK ...
    C: d DELETE up
    S: d OK ...
    C: e RENAME up/up up
    S: e OK ...
    C: f LIST "" "up*" RETURN (STATUS (MESSAGES))
    S: * LIST (\\HasChildren) "/" up
    S: * STATUS up (MESSAGES 0)
    S: * LIST (\\HasChildren) "/" up/up
    S: * STATUS up/up (MESSAGES 0)
    S: * LIST (\\HasNoChildren) "/" up/up/x
    S: * STATUS up/up/x (MESSAGES 1)
    S: * LIST (\\HasNoChildren) "/" up/x
    S: * STATUS up/x (MESSAGES 0)
    S: f OK ...
    `
  )
})

test('LSUB with % tells the level above a subscribed name as \\Noselect; subscriptions outlive mailboxes (RFC 3501 §6.3.9)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE foo/bar
    S: a OK ...
    C: b SUBSCRIBE foo/bar
    S: b OK ...
    C: c LSUB "" "f%"
    S: * LSUB (\\Noselect) "/" foo
    S: c OK ...
    C: d LSUB "" "f*"
    S: * LSUB () "/" foo/bar
    S: d OK ...
    C: e DELETE foo/bar
    S: e OK ...
    C: f LSUB "" "f*"
    S: * LSUB () "/" foo/bar
    S: f OK ...
    C: g UNSUBSCRIBE foo/bar
    S: g OK ...
    C: h LSUB "" "f*"
    S: h OK ...
    C: i SUBSCRIBE fruit/
    S: i OK ...
    C: j LSUB "" "f*"
    S: * LSUB () "/" fruit
    S: j OK ...
    C: k UNSUBSCRIBE fruit/
    S: k OK ...
    C: l LSUB "" "f*"
    S: l OK ...
    `
  )
})

test('names are modified UTF-7 on the wire, and quoted where they must be (RFC 3501 §5.1.3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE "Entw&APw-rfe"
    S: a OK ...
    C: b CREATE "two words"
    S: b OK ...
    C: c LIST "" "Entw*"
    S: * LIST (\\HasNoChildren) "/" Entw&APw-rfe
    S: c OK ...
    C: d LIST "" "two*"
    S: * LIST (\\HasNoChildren) "/" "two words"
    S: d OK ...
    C: e STATUS "Entw&APw-rfe" (MESSAGES)
    S: * STATUS Entw&APw-rfe (MESSAGES 0)
    S: e OK ...
    C: f CREATE "bad&name"
    S: f NO [CANNOT] ...
    C: g LIST "" "bad&name"
    S: g OK ...
    C: h LIST "bad&name" "*"
    S: h OK ...
    C: i LSUB "" "bad&name*"
    S: i OK ...
    `
  )
})

test('INBOX is one name in any case of ASCII letters, also as the first level (RFC 3501 §5.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE iNbOx/x
    S: a OK ...
    C: b LIST "" "inbox/%"
    S: * LIST (\\HasNoChildren) "/" INBOX/x
    S: b OK ...
    C: c LIST inbox/ x
    S: * LIST (\\HasNoChildren) "/" INBOX/x
    S: c OK ...
    C: d SUBSCRIBE InBox/x
    S: d OK ...
    C: e LSUB "" inbox/x
    S: * LSUB () "/" INBOX/x
    S: e OK ...
    C: h LIST inbox *
    S: * LIST (\\HasChildren) "/" INBOX
    S: * LIST (\\HasNoChildren) "/" INBOX/x
    S: h OK ...
    C: i LSUB "" Inb*
    S: * LSUB () "/" INBOX
    S: * LSUB () "/" INBOX/x
    S: i OK ...
    # The Turkish ı becomes I in capitals, and is another letter.
    C: f CREATE &ATE-nbox
    S: f OK ...
    C: g LIST "" &ATE-nb%
    S: * LIST (\\HasNoChildren) "/" &ATE-nbox
    S: g OK ...
    `
  )
})

test('whoever deletes the mailbox that it has selected has none selected, and goes on', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE INBOX/gone
    S: a OK ...
    ${select('INBOX/gone', { exists: 0 })}
    C: b DELETE inbox/gone
    S: b OK ...
    C: c CHECK
    S: c BAD ...
    C: d NOOP
    S: d OK ...
    `
  )
})

test('CREATE says OK to a mailbox that is made, also where there is no room for one of its levels', async (t) => {
  const server = await startImapServer(t)
  const database = await openBeside(server)
  const { count, uidValidity } = /** @type {{ count: number, uidValidity: number }} */ (
    database
      .prepare('SELECT count(*) AS count, max(uid_validity) AS uidValidity FROM mailboxes')
      .get()
  )
  const insert = database.prepare(
    `INSERT INTO mailboxes (name, uid_validity, uid_next, highest_modseq, recent_from_uid,
       expunged_floor, created_at, message_count, unseen_count, deleted_count, total_bytes)
     VALUES (?, ?, 1, 1, 1, 0, 0, 0, 0, 0, 0)`
  )
  database.exec('BEGIN')
  for (let nth = 1; nth < 20_000 - count; nth++) insert.run(`z${nth}`, uidValidity + nth)
  database.exec(`UPDATE account SET last_uid_validity = ${uidValidity + 20_000}; COMMIT`)
  database.close()
  await transcript(
    server,
    `
    C: a CREATE a/b
    S: a OK [MAILBOXID ...
    C: b LIST "" "a*"
    S: * LIST (\\Noselect \\HasChildren) "/" a
    S: * LIST (\\HasNoChildren) "/" a/b
    S: b OK ...
    C: c CREATE c
    S: c NO [LIMIT] ...
    `
  )
})

test('every mailbox that RENAME lets be can be opened: no name is longer than commands take (RFC 3501 §7.2.2)', async (t) => {
  const server = await startImapServer(t)
  const below = 'x'.repeat(990)
  const longest = `${'y'.repeat(33)}/${below}`
  await transcript(
    server,
    `
    C: a CREATE p/${below}
    S: a OK ...
    C: b RENAME p ${'y'.repeat(33)}
    S: b OK ...
    C: c STATUS ${longest} (MESSAGES)
    S: * STATUS ${longest} (MESSAGES 0)
    S: c OK ...
    C: d RENAME ${'y'.repeat(33)} ${'y'.repeat(34)}
    S: d NO [LIMIT] ...
    C: e LIST "" "y%"
    S: * LIST (\\HasChildren) "/" ${'y'.repeat(33)}
    S: e OK ...
    C: f DELETE ${longest}
    S: f OK ...
    `
  )
})

test('LIST and LSUB name the levels above subscribed names only where these are asked for, and not without bound', async (t) => {
  const server = await startImapServer(t)
  const database = await openBeside(server)
  const insert = database.prepare('INSERT INTO subscriptions (name) VALUES (?)')
  database.exec('BEGIN')
  for (let nth = 0; nth < 5200; nth++) insert.run(`z${nth}${'/x'.repeat(39)}`)
  database.exec('COMMIT')
  database.close()
  const client = await LineClient.connect(server)
  await client.login()
  const all = await client.command('LSUB "" "*"')
  assert.equal(all.filter((line) => line.startsWith('* LSUB () "/" z')).length, 5200)
  const subscribed = await client.command('LIST (SUBSCRIBED) "" "z*"')
  assert.equal(subscribed.length, 5201)
  for (const command of ['LSUB "" "%"', 'LIST (SUBSCRIBED RECURSIVEMATCH) "" "%"'])
    assert.match((await client.command(command)).join(), /^t NO \[LIMIT\]/)
  client.close()
})
