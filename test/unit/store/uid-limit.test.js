import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFolder, aliveUids, appendMany, rawHandle } from '../../helpers/account-folder.js'
import { ManualClock } from '../../helpers/manual-clock.js'

test('where the UIDs end, nothing gets into the next mailbox', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const db = rawHandle(account)
  t.after(() => db.close())
  await store.createMailbox('Full')
  await store.createMailbox('Next')
  await appendMany(store, 'Next', 2)
  await appendMany(store, 'INBOX', 2)
  db.prepare("UPDATE mailboxes SET uid_next = 4294967295 WHERE name = 'Full'").run()
  const copy = (/** @type {number[]} */ uids) =>
    store.copyMessages({ from: view, uids, toMailbox: 'Full' })
  await assert.rejects(copy([1, 2]), { code: 'LIMIT' })
  await assert.rejects(appendMany(store, 'Full', 2), { code: 'LIMIT' })
  assert.deepEqual([...(await copy([1])).uids], [4294967295])
  for (const uids of [[1], [1, 2]]) await assert.rejects(copy(uids), { code: 'LIMIT' })
  for (const count of [1, 2])
    await assert.rejects(appendMany(store, 'Full', count), { code: 'LIMIT' })
  assert.deepEqual((await store.verify()).problems, [])
})

test('a clock in the year 2107 makes mailboxes, and leaves numbers for those that are made when it is right', async (t) => {
  const account = await accountFolder(t)
  const clock = new ManualClock(Date.UTC(2107, 0, 1))
  const store = await account.create({ clock })
  const db = rawHandle(account)
  t.after(() => db.close())
  /** @type {number[]} */
  const given = [(await store.mailboxStatus('INBOX')).uidValidity]
  const make = async () => {
    given.push((await store.createMailbox(`made ${given.length}`)).uidValidity)
  }
  await make()
  clock.advance(-100 * 365 * 24 * 3600 * 1000)
  await make()
  await store.liftRestored()
  await make()
  assert.ok(
    given.every((number, index) => number > (given[index - 1] ?? 0)),
    given.join()
  )
  db.prepare('UPDATE account SET last_uid_validity = 4294967294').run()
  await make()
  assert.equal(given.at(-1), 2 ** 32 - 1)
  await assert.rejects(make(), { code: 'LIMIT' })
  assert.deepEqual((await store.verify()).problems, [])
})

test('where the ids of mailboxes end, no mailbox is made, and the others stay of use', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const db = rawHandle(account)
  t.after(() => db.close())
  const counter = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'mailboxes'"
  db.prepare(counter).run(2 ** 21 - 2)
  await store.createMailbox('last')
  const uids = await appendMany(store, 'last', 2)
  const { view } = await store.openView('last')
  // A restore counts on from wherever the counter is.
  for (const given of [2 ** 21 - 1, 2 ** 21 + 2 ** 10]) {
    db.prepare(counter).run(given)
    await assert.rejects(store.createMailbox('one more'), { code: 'LIMIT' })
    await assert.rejects(store.renameMailbox('INBOX', 'one more'), { code: 'LIMIT' })
  }
  await store.copyMessages({ from: view, uids, toMailbox: 'last' })
  assert.deepEqual(aliveUids(view), [1, 2, 3, 4])
  await store.deleteMailbox('last')
  assert.deepEqual((await store.verify()).problems, [])
})
