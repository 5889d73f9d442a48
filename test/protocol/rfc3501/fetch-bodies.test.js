/**
 * Sections of short messages go out by a fast path; it gives what is read of each message by itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccountStore } from '../../../src/store/account-store.js'
import { openBeside } from '../../helpers/beside.js'
import { packAsBefore } from '../../helpers/older-chunks.js'
import { corpusIsMissing, tortureMessages } from '../../helpers/corpus.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { turnsDuring } from '../../helpers/turns.js'
import { WireClient } from '../../helpers/wire-client.js'

const ATTACHMENT = Buffer.alloc(30_000, 'attached ').toString('base64').replace(/.{76}/g, '$&\r\n')

const MESSAGES = [
  'From: A <a@example.org>\r\nX-Other: 1\r\nSubject: one\r\n\r\nbody\r\n',
  'Subject: only a header\r\nX-Other: without end',
  'Subject: no blank line\r\n',
  '\r\nno header\r\n',
  'x',
  'Subject: bare\nX-Other: 2\n\nbody\n',
  'Subject: old\rX-Other: 3\r\rbody\r',
  'x-other : padded\r\n folded\r\nno field\r\nX-OTHER:\r\n\r\n',
  `Content-Type: multipart/mixed; boundary=q\r\n\r\nprologue\r\n--q\r\n\r\npart\r\n--q\r\nContent-Transfer-Encoding: base64\r\n\r\n${ATTACHMENT}\r\n--q\r\nContent-Type: text/html\r\n\r\n<p>behind it\r\n--q--\r\n`,
  'Content-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\nX-Other: 4\r\nContent-Type: multipart/mixed; boundary=r\r\n\r\n--r\r\n\r\n1.1\r\n--r\r\n\r\n1.2\r\n--r--\r\n--q--\r\n',
  'Content-Type: message/rfc822\r\n\r\nSubject: inner alone\r\n\r\ntext\r\n',
  'Content-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\nX-Other: ended by the next one\r\n--q\r\n--q--',
  `Subject: long\r\nX-Other: 5\r\n\r\n${'long '.repeat(40_000)}`,
  `Subject: long with an attachment\r\n\r\n${ATTACHMENT.repeat(8)}end\r\n`,
  `Subject: too long\r\n\r\n${'too long '.repeat(60_000)}`
]
/** Of the last ones parts are read in pieces. */
const TOO_LONG = 3
/** What asks for whole messages, at least where they are short, and how many are too long even so. */
const WHOLES = new Map([
  ['(INTERNALDATE BODY.PEEK[] UID)', 1],
  ['(UID BODY.PEEK[]<0.393216>)', 1],
  ['(BODY.PEEK[]<0.250000> INTERNALDATE)', 2],
  ['(UID BODY.PEEK[]<0.5>)', 3]
])

const SECTIONS = [
  ...WHOLES.keys(),
  '(UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS.NOT (Bcc)])',
  '(BODY.PEEK[]<0.5> BODY.PEEK[])',
  '(BODY.PEEK[]<3.10> MODSEQ)',
  '(BODY.PEEK[]<100000.100000>)',
  '(BODY.PEEK[] BODY.PEEK[] RFC822.HEADER)',
  '(RFC822.HEADER BODY.PEEK[TEXT] FLAGS)',
  '(BODY.PEEK[TEXT]<0.5> BODY.PEEK[TEXT]<7.1>)',
  '(BODY.PEEK[HEADER]<10.20>)',
  '(BODY.PEEK[HEADER.FIELDS ("no name" X-Other Nobody)])',
  '(BODY.PEEK[HEADER.FIELDS (X-Other Subject)]<3.9>)',
  '(BODY.PEEK[HEADER.FIELDS.NOT (Subject)] BODY.PEEK[HEADER.FIELDS (Subject)])',
  '(BODY.PEEK[1] BODY.PEEK[1.MIME])',
  '(BODY.PEEK[1]<0.200>)',
  '(BODY.PEEK[2]<20.100> BODY.PEEK[2.MIME] BODY.PEEK[3])',
  '(BODY.PEEK[1.HEADER] BODY.PEEK[1.TEXT])',
  '(BODY.PEEK[1.HEADER.FIELDS (X-Other)] BODY.PEEK[1.HEADER.FIELDS.NOT (X-Other)])',
  '(BODY.PEEK[1.1] BODY.PEEK[1.2] BODY.PEEK[1.2.MIME] BODY.PEEK[1.3])',
  '(BODY.PEEK[9] UID)'
]

/** Of so many that others would have to wait. */
const MANY = [
  '(BODY.PEEK[]<0.1> BODY.PEEK[]<1.2> BODY.PEEK[]<2.3> BODY.PEEK[1]<0.1> BODY.PEEK[HEADER])',
  `(UID ${Array.from({ length: 300 }, (_, n) => `BODY.PEEK[]<${n}.9>`).join(' ')})`,
  `(UID ${Array.from({ length: 300 }, (_, n) => `BODY.PEEK[HEADER.FIELDS (Subject X-${n})]`).join(' ')})`
]

/**
 * @param {import('node:test').TestContext} t
 * @param {readonly (Buffer | string)[]} messages
 */
async function setUp(t, messages) {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  t.after(() => client.destroy())
  await client.login('alice', `"${PASSWORD}"`)
  // Some in one command, so that what is computed of them is stored with them.
  for (let at = 0; at < messages.length; at += 20) {
    client.send(`a${at} APPEND INBOX`)
    for (const [index, message] of messages.slice(at, at + 20).entries()) {
      const bytes = Buffer.from(message)
      client.send(` (kept) "01-Feb-2024 10:00:${10 + index} -0130" {${bytes.length}+}\r\n`)
      client.send(bytes)
    }
    client.send('\r\n')
    assert.match(await client.until(/a\d+ [^\r]*\r\n/), /^a\d+ OK /)
  }
  await client.command('SELECT INBOX (CONDSTORE)')
  return { server, client }
}

/**
 * Lets the test do without the fast path.
 *
 * @param {import('node:test').TestContext} t
 */
function fastPath(t) {
  const state = { isOpen: true, count: 0 }
  const { readBodies } = AccountStore.prototype
  t.mock.method(
    AccountStore.prototype,
    'readBodies',
    /**
     * @this {AccountStore}
     * @param {Parameters<typeof readBodies>} asked
     */
    async function (...asked) {
      const bodies = await readBodies.apply(this, asked)
      if (!state.isOpen) return bodies.map(() => null)
      state.count += bodies.filter((body) => body !== null).length
      return bodies
    }
  )
  return state
}

/**
 * @param {WireClient} client
 * @param {string} command
 * @returns {Promise<string>} the untagged part of the answer
 */
async function untagged(client, command) {
  const answer = await client.command(command)
  const end = answer.search(/w\d+ OK [^\r]*\r\n$/)
  assert.ok(end >= 0, answer)
  return answer.slice(0, end)
}

test('sections of short messages are those that are read of each by itself', async (t) => {
  const { client } = await setUp(t, MESSAGES)
  const path = fastPath(t)
  for (const items of SECTIONS) {
    path.isOpen = false
    const expected = await untagged(client, `FETCH 1:* ${items}`)
    path.isOpen = true
    path.count = 0
    assert.equal(await untagged(client, `FETCH 1:* ${items}`), expected, items)
    assert.equal(path.count, MESSAGES.length - (WHOLES.get(items) ?? TOO_LONG), items)
  }
  for (const items of MANY) {
    path.count = 0
    const answer = await untagged(client, `FETCH 1:* ${items}`)
    assert.equal(path.count, 0)
    assert.equal(answer.split(/^\* \d+ FETCH/m).length - 1, MESSAGES.length)
  }
})

test('mail is the same bytes whether it was stored by the dictionary or before there was one', async (t) => {
  const { server, client } = await setUp(t, MESSAGES)
  const asked = 'FETCH 1:* (BODY.PEEK[] BODY.PEEK[HEADER] BODY.PEEK[1])'
  const expected = await untagged(client, asked)
  for (const message of MESSAGES) assert.ok(expected.includes(message))
  const db = await openBeside(server)
  const codecs = () =>
    db.prepare('SELECT DISTINCT codec FROM content_chunks ORDER BY 1').pluck().all()
  assert.deepEqual(codecs(), [0, 1, 3, 4, 5])
  packAsBefore(db)
  assert.deepEqual(codecs(), [0, 1, 3])
  db.close()
  assert.equal(await untagged(client, asked), expected)
})

test('bodies that are asked for among commands that change the mailbox are those that are there then', async (t) => {
  const { client } = await setUp(t, ['Subject: a\r\n\r\n1', 'Subject: b\r\n\r\n2'])
  const commands = [
    'FETCH 1 BODY.PEEK[TEXT]',
    'FETCH 2 BODY.PEEK[]',
    'STORE 1 +FLAGS.SILENT (\\Deleted)',
    'FETCH 1 (FLAGS BODY.PEEK[])',
    'EXPUNGE',
    'FETCH 1 BODY.PEEK[]',
    'APPEND INBOX {15+}\r\nSubject: c\r\n\r\n3',
    'FETCH 2 BODY.PEEK[]',
    'CREATE other',
    'COPY 2 other',
    'FETCH 1 (BODY.PEEK[HEADER])',
    'SELECT other',
    'FETCH 1 BODY.PEEK[]'
  ]
  client.send(commands.map((command, number) => `x${number} ${command}\r\n`).join(''))
  const answer = await client.until(/^x12 [^\r]*\r\n/m)
  const told = answer.matchAll(/^\* (\d+) FETCH \([^{]*\{\d+\}\r\n(?:Subject: (\w))?\s*(\d?)\)/gm)
  assert.deepEqual(
    [...told].map(([, number, subject, text]) => `${number} ${subject ?? ''}${text}`),
    ['1 1', '2 b2', '1 a1', '1 b2', '2 c3', '1 b', '1 c3']
  )
  assert.equal(answer.match(/^x\d+ OK /gm)?.length, commands.length, answer)
})

test('others have their turn between two messages whose headers take their time', async (t) => {
  const lines = 'a:\r\n'.repeat(10_000)
  const mails = Array.from({ length: 30 }, (_, number) => `Subject: ${number}\r\n${lines}\r\n`)
  const { client } = await setUp(t, mails)
  const path = fastPath(t)
  const { turns } = await turnsDuring(t, () =>
    client.command('FETCH 1:* (BODY.PEEK[HEADER.FIELDS (X)] BODY.PEEK[HEADER.FIELDS.NOT (B)])')
  )
  assert.ok(path.count >= 25, `${path.count} by the fast path`)
  assert.ok(turns >= 20, `${turns} turns`)
})

test(
  'sections of mail that is hard to read are the same by either way',
  { skip: corpusIsMissing },
  async (t) => {
    const messages = [...tortureMessages({ every: 2 })].map(({ bytes }) => bytes)
    const { client } = await setUp(t, messages)
    const path = fastPath(t)
    for (const items of SECTIONS) {
      path.isOpen = false
      const expected = await untagged(client, `FETCH 1:* ${items}`)
      path.isOpen = true
      assert.equal((await untagged(client, `FETCH 1:* ${items}`)) === expected, true, items)
    }
    assert.ok(path.count > 0)
  }
)

test('a message that is damaged costs those behind it, which can be asked for', async (t) => {
  const { server, client } = await setUp(t, ['Subject: a\r\n\r\n1', 'b: \r\n\r\n2', 'c: \r\n\r\n3'])
  const db = await openBeside(server)
  t.after(() => db.close())
  db.exec("UPDATE content_chunks SET codec = 1, data = x'0102' WHERE id / 65536 = 2")
  for (const items of ['BODY.PEEK[HEADER]', '(BODY.PEEK[] INTERNALDATE)', 'BODY.PEEK[1]<0.1>']) {
    const answer = await client.command(`FETCH 1:3 ${items}`)
    assert.match(answer, /^\* 1 FETCH [^*]*\)\r\nw\d+ NO /)
    assert.match(await client.command(`FETCH 3 ${items}`), /^\* 3 FETCH [^*]*\)\r\nw\d+ OK /)
  }
})
