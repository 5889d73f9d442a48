/**
 * Mail with NUL in it, which comes by LMTP, by APPEND and by import, and may go out in no literal but a literal8 (CHAR8 of
 * RFC 3501 §9 and RFC 9051 §9; RFC 3516 §4.3).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccountStore } from '../../../src/store/account-store.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

/**
 * @param {number} lines
 * @returns {Buffer}
 */
const message = (lines) =>
  Buffer.from(
    'From: "A\0nn" <a@example.org>\r\nSubject: nul \0 here\r\nX-Own: \0\r\n' +
      'Content-Type: multipart/mixed; boundary=q; x="\0"\r\n\r\n' +
      `--q\r\nX-Part: \0\r\n\r\none\0two\r\n${'more\0\r\n'.repeat(lines)}` +
      `--q\r\nContent-Type: message/rfc822\r\n\r\nSubject: in\0ner\r\n\r\nthree\0\r\n--q--\r\n`
  )

/** In one chunk, in some, in many. */
const MESSAGES = [message(1), message(25_000), message(200_000)]

const SECTIONS = [
  'BODY.PEEK[]',
  'BODY.PEEK[]<3.200000>',
  'RFC822.HEADER',
  '(UID BODY.PEEK[HEADER] BODY.PEEK[TEXT])',
  '(UID BODY.PEEK[HEADER.FIELDS (Subject From)])',
  'BODY.PEEK[HEADER.FIELDS (X-Own)]',
  '(ENVELOPE BODY.PEEK[HEADER.FIELDS (Subject Content-Type)])',
  '(UID BODYSTRUCTURE BODY.PEEK[HEADER.FIELDS (From)])',
  'BODY.PEEK[HEADER.FIELDS.NOT (X-Other)]',
  'BODY.PEEK[HEADER.FIELDS.NOT (X-Other)]<2.90>',
  '(BODY.PEEK[1.MIME] BODY.PEEK[1] BODY.PEEK[1]<2.3>)',
  '(BODY.PEEK[2] BODY.PEEK[2.HEADER] BODY.PEEK[2.TEXT])',
  '(ENVELOPE BODY BODYSTRUCTURE PREVIEW)'
]

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<WireClient>} in an INBOX that has them
 */
async function setUp(t) {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  t.after(() => client.destroy())
  await client.login('alice', `"${PASSWORD}"`)
  for (const bytes of MESSAGES) assert.match(await client.command('APPEND INBOX', bytes), /OK \[/)
  assert.match(await client.command('SELECT INBOX'), /OK \[READ-WRITE/)
  return client
}

/**
 * @param {string} answer - latin1
 * @returns {string[]} what is in its literals
 */
function literalsOf(answer) {
  const literals = []
  const head = /\{(\d+)\}\r\n/g
  for (let match = head.exec(answer); match !== null; match = head.exec(answer)) {
    const end = head.lastIndex + Number(match[1])
    literals.push(answer.slice(head.lastIndex, end))
    head.lastIndex = end
  }
  return literals
}

test('a section shows 0x80 for NUL, as long as it is, whichever way it goes out', async (t) => {
  const client = await setUp(t)
  const { readBodies } = AccountStore.prototype
  let isShort = true
  t.mock.method(
    AccountStore.prototype,
    'readBodies',
    /**
     * @this {AccountStore}
     * @param {Parameters<typeof readBodies>} asked
     */
    async function (...asked) {
      const bodies = await readBodies.apply(this, asked)
      return isShort ? bodies : bodies.map(() => null)
    }
  )
  for (const items of SECTIONS) {
    const answers = []
    for (isShort of [true, false]) {
      const answer = await client.command(`FETCH 1:* ${items}`)
      assert.ok(!answer.includes('\0'), `${items}: ${isShort ? 'short' : 'long'} way`)
      answers.push(answer.slice(0, answer.lastIndexOf('\r\n', answer.length - 3)))
    }
    assert.ok(answers[0] === answers[1], items)
  }
  isShort = true
  const shown = MESSAGES.map((bytes) => bytes.toString('latin1').replaceAll('\0', '\x80'))
  assert.deepEqual(literalsOf(await client.command('FETCH 1:* BODY.PEEK[]')), shown)
  const sizes = [...(await client.command('FETCH 1:* RFC822.SIZE')).matchAll(/SIZE (\d+)/g)]
  assert.deepEqual(
    sizes.map(([, size]) => Number(size)),
    MESSAGES.map(({ length }) => length)
  )
})

test('what is stored keeps its NUL: BINARY gives it in a literal8, beside sections without', async (t) => {
  const client = await setUp(t)
  for (const [index, bytes] of MESSAGES.entries()) {
    const whole = bytes.toString('latin1')
    const answer = await client.command(`FETCH ${index + 1} (BODY.PEEK[1.MIME] BINARY.PEEK[])`)
    const [before, after] = answer.split(' BINARY[] ~')
    assert.match(before ?? '', /X-Part: \x80/)
    assert.ok(literalsOf(after ?? '')[0] === whole)
    const both = await client.command(`FETCH ${index + 1} (BINARY.PEEK[2] BODY.PEEK[2])`)
    const inner = 'Subject: in\0ner\r\n\r\nthree\0'
    assert.match(both, /BINARY\[2\] ~\{/)
    assert.deepEqual(literalsOf(both), [inner, inner.replaceAll('\0', '\x80')])
  }
})
