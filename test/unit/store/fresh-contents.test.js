/**
 * What has come last is at hand for whoever asks first: a little, of all mailboxes together.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetFresh, keepFresh, takeFresh } from '../../../src/store/fresh-contents.js'
import { accountFolder, makeMessage, rawHandle } from '../../helpers/account-folder.js'

/** @typedef {import('../../../src/store/staged-content.js').StagedContent} StagedContent */

/** @param {number} heldBytes */
const contentOf = (heldBytes) => /** @type {StagedContent} */ ({ heldBytes })

/** @param {import('node:test').TestContext} t */
function mailbox(t) {
  const owner = {}
  t.after(() => forgetFresh(owner))
  return owner
}

/**
 * @param {object} owner
 * @param {number} count - ids from 1
 */
const thoseAtHand = (owner, count) =>
  Array.from({ length: count }, (_, at) => at + 1).filter((id) => takeFresh(owner, id) !== null)

test('it is given once, to the mailbox that it came to', (t) => {
  const [one, other] = [mailbox(t), mailbox(t)]
  const [content, another] = [contentOf(10), contentOf(20)]
  keepFresh(one, 7, content)
  keepFresh(other, 7, another)
  assert.equal(takeFresh(other, 7), another)
  assert.equal(takeFresh(other, 7), null)
  assert.equal(takeFresh(one, 8), null)
  assert.equal(takeFresh(one, 7), content)
})

test('of many the last sixteen are at hand, whosever they are', (t) => {
  const [one, other] = [mailbox(t), mailbox(t)]
  for (let id = 1; id <= 20; id++) keepFresh(one, id, contentOf(10))
  for (let id = 1; id <= 10; id++) keepFresh(other, id, contentOf(10))
  assert.deepEqual(thoseAtHand(one, 20), [15, 16, 17, 18, 19, 20])
  assert.equal(thoseAtHand(other, 10).length, 10)
})

test('of large ones there are as few as a mebibyte holds, and one that is larger is not kept', (t) => {
  const owner = mailbox(t)
  for (let id = 1; id <= 8; id++) keepFresh(owner, id, contentOf(300_000))
  assert.deepEqual(thoseAtHand(owner, 8), [6, 7, 8])
  keepFresh(owner, 1, contentOf(10))
  keepFresh(owner, 2, contentOf(2 ** 20 + 1))
  assert.deepEqual(thoseAtHand(owner, 2), [])
  // What is given or forgotten makes room again.
  for (let id = 1; id <= 3; id++) keepFresh(owner, id, contentOf(300_000))
  forgetFresh(owner)
  for (let id = 1; id <= 3; id++) keepFresh(owner, id, contentOf(300_000))
  assert.deepEqual(thoseAtHand(owner, 3), [1, 2, 3])
})

test('of a mailbox that is closed nothing stays at hand, of others everything', (t) => {
  const [one, other] = [mailbox(t), mailbox(t)]
  for (const id of [1, 2, 3]) for (const owner of [one, other]) keepFresh(owner, id, contentOf(10))
  forgetFresh(one)
  assert.deepEqual(thoseAtHand(one, 3), [])
  assert.deepEqual(thoseAtHand(other, 3), [1, 2, 3])
})

test('ENVELOPE of a message that has just come is made without reading it; a closed mailbox leaves nothing', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  for (const text of ['one', 'two']) {
    const writer = await store.stageContent({ isAlone: true })
    await writer.write(makeMessage(text))
    const content = await writer.finish()
    await store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }])
  }
  const db = rawHandle(account)
  db.exec('DELETE FROM content_chunks')
  db.close()
  const [first] = await store.readMessages(view.mailboxId, [1], { envelope: true })
  assert.ok(first?.envelope?.includes('one'))
  await store.close()
  const again = await account.open()
  await assert.rejects(again.readMessages(view.mailboxId, [2], { envelope: true }), {
    code: 'ACCOUNT_DAMAGED'
  })
})

test('what is at hand is made in slices too', async (t) => {
  const store = await (await accountFolder(t)).create()
  const { view } = await store.openView('INBOX')
  const to = Array.from({ length: 4500 }, (_, nth) => `"Name ${nth}" <user${nth}@x>`)
  const message = Buffer.from(`To: ${to.join(',\r\n ')}\r\n\r\nx\r\n`)
  for (let nth = 0; nth < 16; nth++) {
    const writer = await store.stageContent({ isAlone: true })
    await writer.write(Buffer.concat([Buffer.from(`Subject: ${nth}\r\n`), message]))
    const content = await writer.finish()
    await store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }])
  }
  let turns = 0
  const count = () => {
    turns++
    immediate = setImmediate(count)
  }
  let immediate = setImmediate(count)
  const uids = Array.from({ length: 16 }, (_, at) => at + 1)
  const records = await store.readMessages(view.mailboxId, uids, { envelope: true })
  clearImmediate(immediate)
  assert.equal(records.length, 16)
  assert.ok(turns > 2, `${turns} turns of the event loop`)
})
