import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { openBeside } from '../../helpers/beside.js'
import { append, select } from '../../helpers/dialogue.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'
import { WireClient } from '../../helpers/wire-client.js'

const PARTS = [
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Transfer-Encoding: base64',
  '',
  'aGVsbG8gd29ybGQ=',
  '--b',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'a=3Db =',
  'c',
  '--b',
  'Content-Type: message/rfc822',
  '',
  'Subject: inner',
  'Content-Transfer-Encoding: base64',
  '',
  'aW5uZXI=',
  '--b',
  'Content-Transfer-Encoding: x-own',
  '',
  'secret',
  '--b--',
  ''
].join('\r\n')

test('BINARY, BINARY.PEEK and BINARY.SIZE: decoded parts, ranges of the decoded bytes (RFC 3516 §4.2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: PARTS })}
    ${select('INBOX', { exists: 1 })}
    C: a FETCH 1 (BINARY.SIZE[1] BINARY.SIZE[2] BINARY.SIZE[3.1] BINARY.SIZE[3] BINARY.SIZE[9])
    S: * 1 FETCH (BINARY.SIZE[1] 11 BINARY.SIZE[2] 5 BINARY.SIZE[3.1] 5 BINARY.SIZE[3] 61 BINARY.SIZE[9] 0)
    S: a OK ...
    C: b FETCH 1 (BINARY.PEEK[1] BINARY.PEEK[2] BINARY.PEEK[9] UID)
    S: * 1 FETCH (BINARY[1] {11}
    S: hello world BINARY[2] {5}
    S: a=b c BINARY[9] NIL UID 1)
    S: b OK ...
    C: c FETCH 1 BINARY.PEEK[1]<6.100>
    S: * 1 FETCH (BINARY[1]<6> {5}
    S: world)
    S: c OK ...
    C: d FETCH 1 BINARY.PEEK[1]<50.1>
    S: * 1 FETCH (BINARY[1]<50> {0}
    S: )
    S: d OK ...
    C: e FETCH 1 BINARY.PEEK[3]
    S: * 1 FETCH (BINARY[3] {61}
    S: Subject: inner
    S: Content-Transfer-Encoding: base64
    S:
    S: aW5uZXI=)
    S: e OK ...
    C: f FETCH 1 BINARY[3.1]
    S: * 1 FETCH (FLAGS (\\Seen \\Recent) BINARY[3.1] {5}
    S: inner)
    S: f OK ...
    `.replaceAll('S:\n', 'S: \n')
  )
})

test('a message that is attached in base64 comes decoded, as BODYSTRUCTURE says (RFC 3516 §4.3)', async (t) => {
  const server = await startImapServer(t)
  const attached = (/** @type {string} */ encoding, /** @type {string} */ body) =>
    append('INBOX', {
      message: [
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        'Content-Type: message/rfc822',
        `Content-Transfer-Encoding: ${encoding}`,
        '',
        body,
        '--b--',
        ''
      ].join('\r\n')
    })
  await transcript(
    server,
    `
    ${attached('base64', Buffer.from('Subject: inner\r\n\r\nbody').toString('base64'))}
    ${attached('x-own', 'secret')}
    ${select('INBOX', { exists: 2 })}
    C: a FETCH 1 (BODYSTRUCTURE BINARY.SIZE[1] BINARY.PEEK[1])
    S: * 1 FETCH (BODYSTRUCTURE (("message" "rfc822" NIL NIL NIL "base64" 34 ... BINARY.SIZE[1] 22 BINARY[1] {22}
    S: Subject: inner
    S:
    S: body)
    S: a OK ...
    C: b FETCH 2 BINARY.SIZE[1]
    S: b NO [UNKNOWN-CTE] ...
    `.replaceAll('S:\n', 'S: \n')
  )
})

test('an encoding that is not known is NO [UNKNOWN-CTE]; what is no part is BAD (RFC 3516 §4.3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: PARTS })}
    ${select('INBOX', { exists: 1 })}
    C: a FETCH 1 BINARY.PEEK[4]
    S: a NO [UNKNOWN-CTE] ...
    C: b FETCH 1 BINARY.SIZE[4]
    S: b NO [UNKNOWN-CTE] ...
    C: c FETCH 1 BINARY.PEEK[1.HEADER]
    S: c BAD ...
    C: d FETCH 1 BINARY.SIZE[1]<0.5>
    S: d BAD ...
    C: e FETCH 1 BINARY.PEEK[1]<0.0>
    S: e BAD ...
    `
  )
})

test('what was read before an encoding that is not known is told, and every \\Seen that is set (RFC 3501 §7.4.2)', async (t) => {
  const server = await startImapServer(t)
  const encoded = (/** @type {string} */ encoding, /** @type {string} */ text) =>
    append('INBOX', { message: `Content-Transfer-Encoding: ${encoding}\r\n\r\n${text}\r\n` })
  await transcript(
    server,
    `
    ${encoded('8bit', 'one')}
    ${encoded('x-own', 'two')}
    ${encoded('8bit', 'three')}
    ${select('INBOX', { exists: 3 })}
    C: a FETCH 1:3 BINARY[1]
    S: * 1 FETCH (FLAGS (\\Seen \\Recent) BINARY[1] {5}
    S: one
    S: )
    S: * 2 FETCH (FLAGS (\\Seen \\Recent))
    S: * 3 FETCH (FLAGS (\\Seen \\Recent))
    S: a NO [UNKNOWN-CTE] ...
    C: b FETCH 1:3 FLAGS
    S: * 1 FETCH (FLAGS (\\Seen \\Recent))
    S: * 2 FETCH (FLAGS (\\Seen \\Recent))
    S: * 3 FETCH (FLAGS (\\Seen \\Recent))
    S: b OK ...
    `
  )
})

test('a large part is decoded as it goes out, byte for byte; NUL makes a literal8 (RFC 3516 §4.3)', async (t) => {
  const server = await startImapServer(t)
  const bytes = Buffer.concat([randomBytes(700_000), Buffer.alloc(1)])
  const base64 = bytes.toString('base64').replace(/.{76}/g, '$&\r\n')
  const wire = await WireClient.connect(server.port)
  t.after(() => wire.destroy())
  await wire.login('alice', `"${PASSWORD}"`)
  await wire.command(
    'APPEND INBOX',
    Buffer.from(`Content-Transfer-Encoding: base64\r\n\r\n${base64}`)
  )
  await wire.command('SELECT INBOX')
  const answer = Buffer.from(await wire.command('FETCH 1 BINARY.PEEK[1]'), 'latin1')
  const head = `* 1 FETCH (BINARY[1] ~{${bytes.length}}\r\n`
  assert.equal(answer.toString('latin1', 0, head.length), head)
  assert.ok(answer.subarray(head.length, head.length + bytes.length).equals(bytes))
})

/** A part with each encoding, in order; of the last one the message ends before its header does. */
const ENCODED = [
  'Content-Transfer-Encoding: base64\r\n\r\naGVs\r\nbG8AIHdvcmxk',
  'Content-Transfer-Encoding: quoted-printable\r\n\r\na=3Db =\r\nc =00 =\r\n',
  'Content-Transfer-Encoding: X-UUencode\r\n\r\nbegin 644 a\r\n#86)C\r\n`\r\nend',
  'Content-Transfer-Encoding: 8BIT\r\n\r\n\u00fc and more =3D',
  'Content-Transfer-Encoding: binary\r\n\r\na\0b',
  'Content-Type: message/rfc822\r\n\r\nContent-Transfer-Encoding: base64\r\n\r\naW5uZXI=',
  'Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\nU3ViamVjdDogYQoKYg==',
  'Content-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\none\r\n--c--',
  'Content-Transfer-Encoding: base64\r\n\r\n',
  'Content-Transfer-Encoding: base64'
]
const SECTIONS = ['', '1', '2', '3', '4', '5', '6', '6.1', '7', '8', '8.1', '9', '10', '11', '8.2']
const RANGES = ['', '<0.3>', '<2.4>', '<5.1000>', '<1000.1>']

test('the parts of a short message are decoded as those of a long one, and are as long as their size says', async (t) => {
  const server = await startImapServer(t)
  const wire = await WireClient.connect(server.port)
  t.after(() => wire.destroy())
  await wire.login('alice', `"${PASSWORD}"`)
  const parts = ENCODED.map((part) => `--b\r\n${part}\r\n`).join('')
  // The long one is read chunk by chunk.
  const mails = ['', 'x'.repeat(200_000)].map(
    (epilogue) => `Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts}--b--\r\n${epilogue}`
  )
  for (const mail of mails) await wire.command('APPEND INBOX', Buffer.from(mail))
  await wire.command('SELECT INBOX')
  const fetch = async (/** @type {number} */ number, /** @type {string} */ item) => {
    const answer = await wire.command(`FETCH ${number} ${item}`)
    return /^\* \d+ FETCH \(([^]*)\)\r\nw\d+ OK /.exec(answer)?.[1] ?? answer
  }
  for (const section of SECTIONS) {
    if (section !== '')
      for (const range of RANGES) {
        const item = `BINARY.PEEK[${section}]${range}`
        assert.equal(await fetch(1, item), await fetch(2, item), item)
      }
    const size = await fetch(1, `BINARY.SIZE[${section}]`)
    const whole = await fetch(1, `BINARY.PEEK[${section}]`)
    const length = / ~?\{(\d+)\}/.exec(whole)?.[1] ?? '0'
    assert.equal(size, `BINARY.SIZE[${section}] ${length}`)
  }
  assert.equal(await fetch(1, 'BINARY.PEEK[1]'), 'BINARY[1] ~{12}\r\nhello\0 world')
  assert.equal(await fetch(1, 'BINARY.PEEK[1]<0.3>'), 'BINARY[1]<0> {3}\r\nhel')
  assert.equal(await fetch(1, 'BINARY.PEEK[7]'), 'BINARY[7] {13}\r\nSubject: a\n\nb')
  assert.equal(await fetch(1, 'BINARY.PEEK[11]'), 'BINARY[11] NIL')
})

test('the messages before one that is damaged are answered, and those behind it can be asked for', async (t) => {
  const server = await startImapServer(t)
  const wire = await WireClient.connect(server.port)
  t.after(() => wire.destroy())
  await wire.login('alice', `"${PASSWORD}"`)
  for (let number = 1; number <= 6; number++) {
    const mail = `Content-Transfer-Encoding: base64\r\n\r\n${Buffer.from(`text ${number}`).toString('base64')}`
    await wire.command('APPEND INBOX', Buffer.from(mail))
  }
  await wire.command('SELECT INBOX')
  await wire.command('FETCH 1:* BODYSTRUCTURE')
  const db = await openBeside(server)
  t.after(() => db.close())
  db.exec("UPDATE content_chunks SET codec = 1, data = x'0102' WHERE id / 65536 = 4")
  for (const item of ['BINARY.PEEK[1]', 'BINARY.SIZE[1]', 'BODY.PEEK[1]', 'PREVIEW']) {
    const told = async (/** @type {string} */ set) => {
      const answer = await wire.command(`FETCH ${set} ${item}`)
      return [...answer.matchAll(/^\* (\d+) FETCH|^w\d+ (\w+)/gm)].map(([, n, end]) => n ?? end)
    }
    assert.deepEqual(await told('1:6'), ['1', '2', '3', 'NO'], item)
    assert.deepEqual(await told('4'), ['NO'], item)
    assert.deepEqual(await told('5:6'), ['5', '6', 'OK'], item)
    assert.deepEqual(await told('1:3'), ['1', '2', '3', 'OK'], item)
  }
})
