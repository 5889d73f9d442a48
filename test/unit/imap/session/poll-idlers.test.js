/**
 * The look at what other processes have written, for sessions in IDLE.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pollForIdlers } from '../../../../src/imap/session/poll-idlers.js'
import { accountFolder, appendMany } from '../../../helpers/account-folder.js'
import { turnsDuring } from '../../../helpers/turns.js'

/** @param {import('node:test').TestContext} t */
async function twoStores(t) {
  const account = await accountFolder(t)
  const elsewhere = await account.create()
  const store = await account.open()
  const { view } = await store.openView('INBOX')
  await appendMany(elsewhere, 'INBOX', 3)
  return { store, view }
}

test('who idles is told of what others wrote, and other work has its turn between two mailboxes', async (t) => {
  const accounts = [await twoStores(t), await twoStores(t), await twoStores(t), await twoStores(t)]
  const [asleep, ...idling] = accounts
  const sessions = [
    ...accounts.map(({ store }) => ({ store, isIdling: store !== asleep?.store })),
    ...idling.map(({ store }) => ({ store, isIdling: true }))
  ]
  /** @type {unknown[]} */
  const errors = []
  const { turns } = await turnsDuring(t, () =>
    pollForIdlers(sessions, (error) => errors.push(error))
  )
  assert.ok(turns >= 3, `${turns} turns of others`)
  while (idling.some(({ view }) => view.aliveCount < 3)) await turn()
  assert.equal(asleep?.view.aliveCount, 0)
  assert.deepEqual(errors, [])
})

test('a mailbox that cannot be looked at is told of, and the others are looked at', async (t) => {
  const closed = await accountFolder(t)
  const store = await closed.create()
  await store.close()
  const { store: open, view } = await twoStores(t)
  /** @type {any[]} */
  const errors = []
  const sessions = [store, open].map((each) => ({ store: each, isIdling: true }))
  await pollForIdlers(sessions, (error) => errors.push(error))
  while (view.aliveCount < 3 || errors.length === 0) await turn()
  assert.equal(errors[0].code, 'SHUTTING_DOWN')
})
