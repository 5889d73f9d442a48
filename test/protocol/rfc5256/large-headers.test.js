/** SORT and THREAD of messages with thousands of addresses each. */
import assert from 'node:assert/strict'
import { suite, before, after, test } from 'node:test'
import { loggedIn } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

/** So many that the fastest machine needs several slices. */
const MESSAGES = 300
const ADDRESSES = 4500
/** What a command says of which a busy machine makes more than ten seconds (RFC 9585 §4). */
const STILL_AT_WORK = /^\* OK \[INPROGRESS .*\r\n/gm

suite('messages with large headers', () => {
  /** @type {import('../../helpers/wire-client.js').WireClient} */
  let client
  /** @type {(() => unknown)[]} */
  const ends = []

  before(async () => {
    const context = /** @type {import('node:test').TestContext} */ (
      /** @type {unknown} */ ({ after: (/** @type {() => unknown} */ end) => ends.push(end) })
    )
    client = await loggedIn(context, await startImapServer(context))
    const to = Array.from({ length: ADDRESSES }, (_, nth) => `"Name ${nth}" <user${nth}@x>`)
    for (let nth = 0; nth < MESSAGES; nth++) {
      const lines = ['Subject: one', `To: ${to.join(',\r\n ')}`, `Cc: c${MESSAGES - nth + 100}@x`]
      await client.command('APPEND INBOX', Buffer.from(`${lines.join('\r\n')}\r\n\r\nx\r\n`))
    }
    await client.command('SELECT INBOX')
  })

  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  const numbers = Array.from({ length: MESSAGES }, (_, index) => index + 1)
  for (const [command = '', expected = ''] of [
    ['SORT (CC) UTF-8 ALL', `* SORT ${numbers.toReversed().join(' ')}\r\n`],
    ['THREAD REFERENCES UTF-8 ALL', `* THREAD (${numbers.map((each) => `(${each})`).join('')})\r\n`]
  ]) {
    test(`${command} lets others have their turn`, async () => {
      let turns = 0
      const timer = setInterval(() => turns++, 1)
      const answer = (await client.command(command)).replace(STILL_AT_WORK, '')
      clearInterval(timer)
      assert.equal(answer.slice(0, expected.length), expected)
      // Read as one page they are one turn, whatever the machine; what slices take depends on it.
      assert.ok(turns > 3, `${turns} turns of the timer`)
    })
  }
})
