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

/**
 * @param {import('../../helpers/server.js').TestServer} server
 * @param {string} [parameter] - of SELECT
 */
async function selecting(server, parameter = '') {
  const client = await WireClient.connect(server.port)
  await client.login('alice', `"${PASSWORD}"`)
  await client.command('ENABLE QRESYNC')
  const answer = await client.command(`SELECT INBOX${parameter}`)
  return { client, answer }
}

test('a reply that tells what others have changed does not vouch for the replies behind it', async (t) => {
  const server = await startImapServer(t)
  const { client: there } = await selecting(server)
  for (let count = 0; count < 4; count++)
    await there.command('APPEND INBOX', Buffer.from(SMALL_MESSAGE))
  const { client: here, answer } = await selecting(server)
  const uidValidity = /UIDVALIDITY (\d+)/.exec(answer)?.[1]

  // All three are done, and then the other session's, before the first of them is answered.
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
        await there.command('UID STORE 4 +FLAGS.SILENT (\\Flagged)')
        held.resolve(undefined)
      }
      await held.promise
      return outcome
    }
  )
  const replies = [1, 2, 3].map((uid) => here.command(`UID STORE ${uid} +FLAGS (\\Answered)`))
  const [first = '', second = '', third = ''] = await Promise.all(replies)
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
