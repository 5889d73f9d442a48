/**
 * STOREs that are sent together are done together and answered one after the other: a client that loses the connection
 * between two of the replies must not believe that it knows what the second would have told (RFC 7162 §3.2).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccountStore } from '../../../src/store/account-store.js'
import { SMALL_MESSAGE } from '../../helpers/dialogue.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

/** @typedef {import('../../helpers/server.js').TestServer} TestServer */

/**
 * @param {TestServer} server
 * @param {string} [parameter] - of SELECT
 */
async function selecting(server, parameter = '') {
  const client = await WireClient.connect(server.port)
  await client.login('alice', `"${PASSWORD}"`)
  await client.command('ENABLE QRESYNC')
  const answer = await client.command(`SELECT INBOX${parameter}`)
  return { client, answer }
}

/**
 * Sends three STOREs at once, which are all done before the first of them is answered.
 *
 * @param {import('node:test').TestContext} t
 * @param {WireClient} client
 * @param {string} change - of the messages with the UIDs 1, 2 and 3
 * @param {() => Promise<unknown>} meanwhile - once they are done
 * @returns {Promise<string[]>} the answers
 */
async function storeThree(t, client, change, meanwhile) {
  const { changeFlags } = AccountStore.prototype
  let calls = 0
  const held = Promise.withResolvers()
  const mocked = t.mock.method(
    AccountStore.prototype,
    'changeFlags',
    /**
     * @this {AccountStore}
     * @param {Parameters<typeof changeFlags>[0]} request
     */
    async function (request) {
      const nth = ++calls
      const outcome = await changeFlags.call(this, request)
      if (nth === 3) {
        mocked.mock.restore()
        held.resolve(await meanwhile())
      }
      await held.promise
      return outcome
    }
  )
  return await Promise.all([1, 2, 3].map((uid) => client.command(`UID STORE ${uid} ${change}`)))
}

/** @param {TestServer} server */
async function fourMessages(server) {
  const { client } = await selecting(server)
  for (let count = 0; count < 4; count++)
    await client.command('APPEND INBOX', Buffer.from(SMALL_MESSAGE))
  return client
}

test('a reply that tells what others have changed does not vouch for the replies behind it', async (t) => {
  const server = await startImapServer(t)
  const there = await fourMessages(server)
  const { client: here, answer } = await selecting(server)
  const uidValidity = /UIDVALIDITY (\d+)/.exec(answer)?.[1]

  const answers = await storeThree(t, here, '+FLAGS (\\Answered)', () =>
    there.command('UID STORE 4 +FLAGS.SILENT (\\Flagged)')
  )
  const [first = '', second = '', third = ''] = answers
  assert.match(first, /UID 4 FLAGS \([^)]*\\Flagged/, 'the news come with the first reply')
  for (const known of [first, second]) {
    const told = /HIGHESTMODSEQ (\d+)/.exec(known)?.[1]
    assert.ok(told !== undefined, known)
    const again = await selecting(server, ` (QRESYNC (${uidValidity} ${told}))`)
    assert.match(again.answer, /UID 2 FLAGS/)
    assert.match(again.answer, /UID 3 FLAGS/)
    again.client.destroy()
  }
  assert.doesNotMatch(third, /HIGHESTMODSEQ/, 'nothing is missing any more')
  const later = await here.command('UID STORE 1 -FLAGS (\\Answered)')
  assert.doesNotMatch(later, /HIGHESTMODSEQ/)
})

test('what others make of a message after a silent STORE is told behind the replies before it', async (t) => {
  const server = await startImapServer(t)
  const there = await fourMessages(server)
  const { client: here } = await selecting(server)
  const answers = await storeThree(t, here, '+FLAGS.SILENT (\\Answered)', () =>
    there.command('UID STORE 3 -FLAGS.SILENT (\\Answered)')
  )
  const [, second = '', third = ''] = answers
  assert.doesNotMatch(second, /FLAGS/, 'nobody else has changed it')
  assert.match(third, /UID 3 FLAGS \((?!.*\\Answered)/)
})
