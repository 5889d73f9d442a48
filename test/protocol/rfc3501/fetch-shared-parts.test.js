/**
 * FETCH and SEARCH of messages whose attachments others have too: the same answers before and after these are stored once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailWith, noise } from '../../helpers/attachments.js'
import { openBeside, storeBeside } from '../../helpers/beside.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

const [SMALL, LARGE] = [noise('small', 20_000), noise('large', 250_000)]
/** Kept decoded and compressed. */
const TEXT = Buffer.from('a table that compresses, line by line\r\n'.repeat(3000))

const MESSAGES = [
  mailWith('one', [SMALL]),
  mailWith('two', [{ bytes: SMALL, line: 64 }, noise('two', 5000)]),
  mailWith('three', [LARGE, SMALL, TEXT]),
  mailWith('four', [TEXT, { bytes: LARGE, line: 72 }])
]

const COMMANDS = [
  'FETCH 1:* (UID FLAGS RFC822.SIZE BODY.PEEK[])',
  'FETCH 1:* (BODY.PEEK[1] BODY.PEEK[2] BODY.PEEK[2.MIME] BODY.PEEK[3] BODY.PEEK[4])',
  'FETCH 1:* (BODY.PEEK[2]<1000.3000> BODY.PEEK[]<20000.100>)',
  'FETCH 1:* (BODY.PEEK[HEADER] BODYSTRUCTURE BODY.PEEK[HEADER.FIELDS (Subject)])',
  'FETCH 1:* (BINARY.PEEK[2] BINARY.SIZE[3] BINARY.PEEK[2]<500.1000>)',
  ...Array.from({ length: 6 }, (_, n) => `UID FETCH 3 BODY.PEEK[]<${n * 65_536}.65536>`),
  'UID FETCH 4,2 BODY.PEEK[TEXT]',
  'SEARCH TEXT three',
  'SEARCH BODY "About t"'
]

test('messages are the same to the byte before and after their attachments are shared', async (t) => {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  t.after(() => client.destroy())
  await client.login('alice', `"${PASSWORD}"`)
  for (const message of MESSAGES) await client.command('APPEND INBOX', message)
  await client.command('SELECT INBOX')
  const answers = async () => {
    const all = []
    for (const command of COMMANDS) all.push(untagged(await client.command(command)))
    return all
  }
  const before = await answers()
  MESSAGES.forEach((message, index) =>
    assert.ok(before[0]?.includes(message.toString('latin1')), `message ${index + 1}`)
  )

  await (await storeBeside(t, server)).indexSearch()
  const db = await openBeside(server)
  const references = db.prepare('SELECT count(*) FROM shared_part_uses').pluck().get()
  db.close()
  assert.equal(references, 7)
  for (const [index, answer] of (await answers()).entries())
    assert.ok(answer === before[index], COMMANDS[index])
  // All at once.
  const pipelined = await Promise.all(COMMANDS.map((command) => client.command(command)))
  for (const [index, answer] of pipelined.entries())
    assert.ok(untagged(answer) === before[index], COMMANDS[index])
})

/**
 * @param {string} answer
 * @returns {string} without its tagged line
 */
function untagged(answer) {
  const start = answer.lastIndexOf('\r\n', answer.length - 3) + 2
  assert.match(answer.slice(start), /^w\d+ OK /)
  return answer.slice(0, start)
}
