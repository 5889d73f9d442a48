import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knownReplies } from '../../../src/store/threading/known-replies.js'
import { Slicer } from '../../../src/support/slicer.js'
import { accountFolder } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {number} count - of messages, every third of which is no reply
 */
const append = (store, count) =>
  appendAll(
    store,
    'INBOX',
    Array.from({ length: count }, (_, nth) => ({
      bytes: Buffer.from(`Subject: ${nth % 3 === 0 ? '' : 'Re: '}tea\r\n\r\nx\r\n`)
    }))
  )

/**
 * @param {import('node:test').TestContext} t
 * @param {number} count
 */
async function setup(t, count) {
  const store = await (await accountFolder(t)).create()
  await append(store, count)
  const { view } = await store.openView('INBOX')
  const find = async () => {
    const slots = [...Array(view.length).keys()]
    const isReply = await knownReplies({ store, view }, slots, new Slicer())
    return slots.filter((slot) => isReply(slot))
  }
  return { store, view, find }
}

/** @param {number} count */
const replies = (count) => [...Array(count).keys()].filter((slot) => slot % 3 > 0)

test('which messages are replies is known of those too that come later', async (t) => {
  const { store, view, find } = await setup(t, 3)
  assert.deepEqual(await find(), replies(3))
  const capacity = view.uids.length
  while (view.length <= capacity) await append(store, 3)
  assert.deepEqual(await find(), replies(view.length))
})

test('which messages are replies stays known when others come in the midst of reading them', async (t) => {
  const { store, view, find } = await setup(t, 300)
  const capacity = view.uids.length
  const readPage = store.readPage.bind(store)
  let pages = 0
  t.mock.method(store, 'readPage', async (/** @type {Parameters<typeof readPage>} */ ...asked) => {
    if (++pages === 2) await append(store, capacity)
    return await readPage(...asked)
  })
  assert.deepEqual(await find(), replies(300))
  assert.ok(view.uids.length > capacity)
})
