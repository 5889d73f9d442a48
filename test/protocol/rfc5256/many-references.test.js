/** THREAD of messages whose References name very many messages that are not there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { turnsDuring } from '../../helpers/turns.js'

/** What is read of one References field. */
const REFERENCES = 500

/**
 * @param {string} id
 * @param {readonly string[]} references
 * @returns {Buffer}
 */
function mail(id, references) {
  const field = references.map((each) => `<${each}@x>`).join('\r\n ')
  return Buffer.from(`Message-ID: <${id}@x>\r\nReferences: ${field}\r\n\r\nx\r\n`)
}

/**
 * @param {string} prefix
 * @param {number} first
 * @returns {string[]} as many identifiers as are read, which follow each other
 */
const run = (prefix, first) =>
  Array.from({ length: REFERENCES }, (_, index) => `${prefix}${first + index}`)

test('references to nowhere are followed up to a bound, those to messages always', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  /** @type {Promise<string>[]} */
  const appended = []
  const append = (/** @type {Buffer} */ message) =>
    appended.push(client.command('APPEND INBOX', message))
  append(mail('a', ['early']))
  const many = 250
  for (let nth = 0; nth < many; nth++) append(mail(`m${nth}`, run('r', nth * REFERENCES)))
  append(mail('b', ['early', 'late']))
  append(mail('c', ['late', 'a']))
  append(mail('d', ['late']))
  await Promise.all(appended)
  await client.command('SELECT INBOX')
  const told = await client.command('THREAD REFERENCES UTF-8 ALL')
  // A slow machine says before it that it is still at work.
  const answer = told.slice(told.indexOf('* THREAD'))
  // `late` came when there were too many, so that b and d have nothing in common. An answer to a message is one.
  assert.ok(answer.startsWith(`* THREAD ((1 ${many + 3})(${many + 2}))(2)(3)`), answer.slice(0, 80))
  assert.ok(answer.includes(`(${many + 1})(${many + 4})\r\n`), answer.slice(-80))
})

test('a long way up from a reference lets others have their turn, and is gone so often and no more', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const appended = []
  // Each begins where the one before has ended: one chain.
  const length = 150 * (REFERENCES - 1)
  for (let first = 0; first < length; first += REFERENCES - 1)
    appended.push(client.command('APPEND INBOX', mail(`m${first}`, run('r', first))))
  for (let nth = 0; nth < 300; nth++)
    appended.push(client.command('APPEND INBOX', mail(`n${nth}`, [`r${length}`, 'r0'])))
  // To see that no loop comes of the last one, the way would have to be gone once more.
  appended.push(client.command('APPEND INBOX', mail('y', ['s0'])))
  appended.push(client.command('APPEND INBOX', mail('z', [`r${length}`, 's0'])))
  // Nor is a message that others name already put below what it names itself.
  appended.push(client.command('APPEND INBOX', mail('x', ['w'])))
  appended.push(client.command('APPEND INBOX', mail('w', [`r${length}`])))
  await Promise.all(appended)
  await client.command('SELECT INBOX')
  const { answer, turns } = await turnsDuring(t, () =>
    client.command('THREAD REFERENCES UTF-8 ALL')
  )
  assert.match(answer, /^\* THREAD \(\(1\)\(2\).*\(450\)\)\(\(451\)\(452\)\)\(454 453\)\r$/m)
  assert.ok(turns > 10, `${turns} turns`)
})
