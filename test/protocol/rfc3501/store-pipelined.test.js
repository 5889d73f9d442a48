/**
 * STOREs that come before the replies to those before them (RFC 3501 §5.5).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBeside } from '../../helpers/beside.js'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

test('STOREs in one packet are answered in their order, what is refused among them too', async (t) => {
  const server = await startImapServer(t)
  const many = Array.from({ length: 60 }, (_, index) => `k${index}`).join(' ')
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 3 })}
    C+: a STORE 1 +FLAGS (\\Seen)
    C+: b STORE 2 +FLAGS.SILENT (\\Flagged)
    C+: c STORE 9 +FLAGS (\\Seen)
    C+: d UID STORE 3 +FLAGS (\\Draft)
    C+: e STORE 3 +FLAGS (${many})
    C+: f UID STORE 77 +FLAGS (\\Seen)
    C+: g STORE 2:3 +FLAGS (\\Answered)
    C: h FETCH 1:3 FLAGS
    S: * 1 FETCH (FLAGS (\\Seen \\Recent))
    S: a OK ...
    S: b OK ...
    S: c BAD ...
    S: * 3 FETCH (UID 3 FLAGS (\\Draft \\Recent))
    S: d OK ...
    S: e NO [LIMIT] ...
    S: f OK ...
    S: * 2 FETCH (FLAGS (\\Answered \\Flagged \\Recent))
    S: * 3 FETCH (FLAGS (\\Answered \\Draft \\Recent))
    S: g OK ...
    S: * 1 FETCH (FLAGS (\\Seen \\Recent))
    S: * 2 FETCH (FLAGS (\\Answered \\Flagged \\Recent))
    S: * 3 FETCH (FLAGS (\\Answered \\Draft \\Recent))
    S: h OK ...
    `
  )
})

test('what a STORE is answered is what it has done, although more of the message is stored behind it', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 2 })}
    C+: a STORE 2 +FLAGS.SILENT (\\Answered)
    C+: b STORE 1 +FLAGS (\\Seen)
    C+: c STORE 1 -FLAGS (\\Seen)
    C+: d STORE 1:2 FLAGS (Work)
    C: e UID STORE 2 -FLAGS.SILENT (Work)
    S: a OK ...
    S: * 1 FETCH (FLAGS (\\Seen \\Recent))
    S: b OK ...
    S: * 1 FETCH (FLAGS (\\Recent))
    S: c OK ...
    S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft Work)
    S: * OK [PERMANENTFLAGS ...
    S: * 1 FETCH (FLAGS (Work \\Recent))
    S: * 2 FETCH (FLAGS (Work \\Recent))
    S: d OK ...
    S: e OK ...
    `
  )
})

test('a command behind STOREs finds what they have done, and numbers are those of its turn', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 3 })}
    C+: a STORE 1 +FLAGS.SILENT (\\Deleted)
    C+: b STORE 2 +FLAGS.SILENT (\\Flagged)
    C+: c EXPUNGE
    C+: d STORE 2 +FLAGS (\\Seen)
    C+: e STORE 1 (UNCHANGEDSINCE 1) +FLAGS (\\Seen)
    C+: f STORE 2 -FLAGS (\\Seen)
    C+: g SEARCH UNSEEN
    C: h UNSELECT
    S: a OK ...
    S: b OK ...
    S: * 1 EXPUNGE
    S: * 2 RECENT
    S: c OK ...
    S: * 2 FETCH (FLAGS (\\Seen \\Recent))
    S: d OK ...
    S: * OK [HIGHESTMODSEQ ...
    S: * 1 FETCH (UID 2 FLAGS (\\Flagged \\Recent) MODSEQ (...))
    S: e OK [MODIFIED 1] ...
    S: * 2 FETCH (UID 3 FLAGS (\\Recent) MODSEQ (...))
    S: f OK ...
    S: * SEARCH 1 2
    S: g OK ...
    S: h OK ...
    `
  )
})

test('the last of several STOREs of a message holds, although the first had to wait for the file', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  await client.login()
  for (let count = 0; count < 2; count++)
    await client.command('APPEND INBOX {11+}\r\nA: b\r\n\r\nx\r\n')
  await client.command('SELECT INBOX')
  const db = await openBeside(server)
  t.after(() => db.close())
  // Another process writes. Tries to get the lock come with growing pauses: whoever asks first may ask again last.
  db.exec('BEGIN IMMEDIATE')
  client.send('a STORE 1 +FLAGS (\\Seen)\r\nb STORE 2 FLAGS (\\Draft)\r\n')
  await new Promise((resolve) => setTimeout(resolve, 120))
  client.send('c STORE 1 -FLAGS (\\Seen)\r\nd STORE 2 FLAGS (\\Flagged)\r\ne FETCH 1:2 FLAGS\r\n')
  await new Promise((resolve) => setTimeout(resolve, 20))
  db.exec('ROLLBACK')
  const lines = []
  for (let line = await client.line(); !line?.startsWith('e '); line = await client.line())
    lines.push(line)
  assert.deepEqual(
    lines.filter((line) => /^[a-d] /.test(line ?? '')).map((line) => line?.slice(0, 4)),
    ['a OK', 'b OK', 'c OK', 'd OK']
  )
  assert.deepEqual(lines.slice(-2), [
    '* 1 FETCH (FLAGS (\\Recent))',
    '* 2 FETCH (FLAGS (\\Flagged \\Recent))'
  ])
})

test('hundreds of STOREs, APPENDs between them, are all done and answered in order', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  await client.login()
  const message = 'A: b\r\n\r\nx\r\n'
  await client.command(`APPEND INBOX${` {${message.length}+}\r\n${message}`.repeat(20)}`)
  await client.command('SELECT INBOX')
  /** @type {Set<string>[]} */
  const expected = Array.from({ length: 20 }, () => new Set(['\\Recent']))
  const commands = Array.from({ length: 300 }, (_, nth) => {
    if (nth % 10 === 5) return `t${nth} APPEND Archive {${message.length}+}\r\n${message}\r\n`
    const index = (nth * 7) % 20
    const isRemoved = nth % 3 === 0
    for (const flag of ['\\Seen', `$k${nth % 7}`])
      if (isRemoved) expected[index]?.delete(flag)
      else expected[index]?.add(flag)
    return `t${nth} UID STORE ${index + 1} ${isRemoved ? '-' : '+'}FLAGS (\\Seen $k${nth % 7})\r\n`
  })
  client.send(commands.join(''))
  const tags = []
  while (tags.length < commands.length) {
    const line = (await client.line()) ?? 'closed'
    if (!line.startsWith('*')) tags.push(line.replace(/ (OK|NO|BAD).*/, ' $1'))
  }
  assert.deepEqual(
    tags,
    commands.map((_, nth) => `t${nth} OK`)
  )
  const lines = await client.command('FETCH 1:* FLAGS')
  const flags = lines.flatMap((line) => /FETCH \(FLAGS \((.*)\)\)/.exec(line)?.[1] ?? [])
  assert.deepEqual(
    flags.map((list) => list.split(' ').sort()),
    expected.map((set) => [...set].sort())
  )
  const [status] = await client.command('STATUS Archive (MESSAGES)')
  assert.equal(status, '* STATUS Archive (MESSAGES 30)')
})

for (const [command, uid] of [
  ['STORE * +FLAGS.SILENT (\\Flagged)', 2],
  ['STORE 2 +FLAGS.SILENT (\\Flagged)', 2],
  ['UID STORE * +FLAGS.SILENT (\\Flagged)', 2],
  ['UID STORE 2:* +FLAGS.SILENT (\\Flagged)', 2],
  ['UID STORE 2 +FLAGS.SILENT (\\Flagged)', 2]
])
  test(`${command} behind an APPEND in the same packet is about the message that comes by it (RFC 9051 §5.5)`, async (t) => {
    const server = await startImapServer(t)
    const client = await LineClient.connect(server)
    t.after(() => client.close())
    await client.login()
    const message = 'Subject: x\r\n\r\nbody\r\n'
    const appended = `APPEND INBOX {${message.length}+}\r\n${message}\r\n`
    client.send(`1 ${appended}2 SELECT INBOX\r\n3 ${appended}4 ${command}\r\n`)
    while (!(await client.line())?.startsWith('4 OK'));
    const flagged = await client.command('UID SEARCH FLAGGED')
    assert.equal(flagged[0], `* SEARCH ${uid}`)
  })
