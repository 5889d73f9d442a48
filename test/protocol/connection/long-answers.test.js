import assert from 'node:assert/strict'
import { before, after, suite, test } from 'node:test'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { turnsDuring } from '../../helpers/turns.js'
import { WireClient } from '../../helpers/wire-client.js'

/** COPY of all to itself makes 2 to this power messages: SEARCH of them is longer than one piece of an answer. */
const DOUBLINGS = 14
const MESSAGES = 2 ** DOUBLINGS
/** Of these the expunge of one comes in between, so that sequence numbers and UIDs are not the same. */
const EXPUNGED = 5

const MAIL = Buffer.from('Subject: one of many\r\nDate: 1 Jan 2022 10:00:00 +0000\r\n\r\nx\r\n')

/** @returns {number[]} the UIDs that are there */
const uidsThere = () =>
  Array.from({ length: MESSAGES }, (_, index) => index + 1).filter((uid) => uid !== EXPUNGED)

/**
 * @param {string} answer - an untagged line and the tagged one
 * @param {string} name - of the response
 * @returns {string} the rest of the untagged line; there is no other
 */
function dataOf(answer, name) {
  const lines = answer.split('\r\n')
  assert.equal(lines.length, 3, 'one untagged line, the tagged one, and no rest')
  const [line = '', tagged = ''] = lines
  assert.match(tagged, /^w\d+ OK /)
  assert.ok(line.startsWith(`* ${name}`), line.slice(0, 40))
  return line.slice(2 + name.length).trim()
}

suite('answers that are longer than a piece', () => {
  /** @type {import('../../helpers/server.js').TestServer} */
  let server
  /** @type {(() => unknown)[]} */
  const ends = []
  /** @type {WireClient} */
  let client
  /** @type {WireClient} who changes flags and expunges while the other is answered */
  let other

  before(async () => {
    const context = /** @type {import('node:test').TestContext} */ (
      /** @type {unknown} */ ({ after: (/** @type {() => unknown} */ end) => ends.push(end) })
    )
    server = await startImapServer(context)
    client = await WireClient.connect(server.port)
    other = await WireClient.connect(server.port)
    for (const each of [client, other]) await each.login('alice', `"${PASSWORD}"`)
    await client.command('APPEND INBOX', MAIL)
    await client.command('SELECT INBOX')
    for (let nth = 0; nth < DOUBLINGS; nth++)
      assert.match(await client.command('COPY 1:* INBOX'), /w\d+ OK/)
    await client.command(`STORE ${EXPUNGED} +FLAGS.SILENT (\\Deleted)`)
    await client.command('EXPUNGE')
    await client.command('CLOSE')
    assert.match(await client.command('SELECT INBOX'), new RegExp(`\\* ${MESSAGES - 1} EXISTS`))
    await other.command('SELECT INBOX')
  })

  after(async () => {
    for (const each of [client, other]) each.destroy()
    for (const end of ends.reverse()) await end()
  })

  test('SEARCH tells sequence numbers, UID SEARCH and UID SORT UIDs', async () => {
    const numbers = dataOf(await client.command('SEARCH ALL'), 'SEARCH')
      .split(' ')
      .map(Number)
    assert.deepEqual(
      numbers,
      uidsThere().map((_, index) => index + 1)
    )
    const uids = dataOf(await client.command('UID SEARCH ALL'), 'SEARCH')
    assert.equal(uids, uidsThere().join(' '))
    const sorted = dataOf(await client.command('UID SORT (REVERSE ARRIVAL) UTF-8 ALL'), 'SORT')
    assert.equal(sorted.split(' ').length, MESSAGES - 1)
    assert.deepEqual(
      sorted
        .split(' ')
        .map(Number)
        .sort((left, right) => left - right),
      uidsThere()
    )
  })

  test('THREAD tells each message once', async () => {
    const threads = dataOf(await client.command('UID THREAD REFERENCES UTF-8 ALL'), 'THREAD')
    const uids = threads.match(/\d+/g)?.map(Number) ?? []
    assert.deepEqual(
      uids.sort((left, right) => left - right),
      uidsThere()
    )
  })

  test('what others do meanwhile comes behind the answer, not into it', async () => {
    const answers = []
    const changes = []
    for (let nth = 0; nth < 8; nth++) {
      const uid = 100 + nth
      answers.push(client.command('UID SEARCH RETURN (ALL COUNT) NOT KEYWORD none'))
      answers.push(client.command('UID SEARCH NOT KEYWORD none'))
      changes.push(other.command(`UID STORE ${uid} +FLAGS.SILENT (\\Deleted extra${nth})`))
      changes.push(other.command(`UID EXPUNGE ${uid}`))
    }
    for (const change of await Promise.all(changes)) assert.match(change, /w\d+ OK/)
    for (const answer of await Promise.all(answers)) {
      const lines = answer.split('\r\n').slice(0, -1)
      assert.match(lines.at(-1) ?? '', /^w\d+ OK /)
      for (const line of lines)
        assert.match(
          line,
          /^(\* SEARCH( \d+)*|\* ESEARCH \(TAG "w\d+"\) UID ALL [\d,:]+ COUNT \d+|\* \d+ (EXPUNGE|EXISTS|RECENT|FETCH \(.*\))|\* FLAGS \(.*\)|\* OK .*|w\d+ OK .*)$/
        )
      const found = lines.filter((line) => /^\* E?SEARCH/.test(line))
      assert.equal(found.length, 1, 'one answer a command, on one line')
    }
  })

  test('saving a result and telling a page of it let others have their turn', async (t) => {
    const turnsOf = async (/** @type {string} */ returns) => {
      const sort = `UID SORT RETURN (${returns}) (SUBJECT) UTF-8 ALL`
      const { answer, turns } = await turnsDuring(t, () => client.command(sort))
      assert.match(answer, /w\d+ OK .*\r\n$/)
      return turns
    }
    const few = await turnsOf('COUNT')
    const saving = await turnsOf('SAVE COUNT')
    const paging = await turnsOf(`PARTIAL 1:${MESSAGES}`)
    assert.ok(saving >= few + 20, `${saving} turns, and ${few} where nothing is saved`)
    assert.ok(paging >= few + 10, `${paging} turns, and ${few} where there is no page`)
  })

  test('a set of numbers that do not follow each other is as long as they are', async () => {
    await client.command('NOOP')
    const uids = dataOf(await client.command('UID SEARCH ALL'), 'SEARCH')
      .split(' ')
      .map(Number)
    const odd = uids.filter((uid) => uid % 2 === 1)
    await client.command(`UID STORE ${odd.join(',')} +FLAGS.SILENT (\\Flagged)`)
    const answer = await client.command('UID SEARCH RETURN (ALL) FLAGGED')
    assert.match(answer, /^\* ESEARCH \(TAG "w\d+"\) UID ALL /)
    const set = answer.slice(answer.indexOf(' ALL ') + 5, answer.indexOf('\r\n'))
    assert.equal(set, odd.join(','))
  })
})
