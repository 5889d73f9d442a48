/**
 * What an open mailbox does unasked has nobody to throw at: a fault in it is one account's, and the operator's to know.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MailError } from '../../../src/errors.js'
import { supervise } from '../../../src/store/supervise.js'
import { accountFolder, appendOne, makeMessage } from '../../helpers/account-folder.js'

/** @typedef {import('../../../src/store/account-database.js').Alert} Alert */

test('a fault of the program in work that nobody waits for is an alert, and ends no process', async (t) => {
  const account = await accountFolder(t)
  const fault = new TypeError('nobody thought of this')
  const { promise: alerted, resolve: onAlert } = Promise.withResolvers()
  const store = await account.create({
    onUsage: () => {
      throw fault
    },
    onAlert
  })
  await appendOne(store, 'INBOX', makeMessage())
  assert.deepEqual(await alerted, { code: 'UNEXPECTED', detail: 'TypeError', err: fault })
  assert.equal((await store.mailboxStatus('INBOX')).messageCount, 1)
})

test('what was foreseen has been told already where it happened', async () => {
  /** @type {Alert[]} */
  const alerts = []
  const onAlert = (/** @type {Alert} */ alert) => alerts.push(alert)
  supervise(Promise.reject(new MailError('DISK_FULL')), onAlert)
  const fault = Object.assign(new Error('x'), { code: 'SQLITE_ERROR' })
  supervise(Promise.reject(fault), onAlert)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(alerts, [{ code: 'UNEXPECTED', detail: 'SQLITE_ERROR', err: fault }])
})
