/**
 * A mailbox that a restore has put in place, and that nobody has opened since, while another restore of it is asked for.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { restoreAccount } from '../../../src/backup/restore-account.js'
import { checkRestored } from '../../../src/accounts/restored.js'
import { lockShared } from '../../../src/database/lock.js'
import { appendOne, makeMessage } from '../../helpers/account-folder.js'
import { openTestAccounts } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'
import { ANNA, askForRestore, emptyHost, restore, withLogin } from '../../helpers/restore.js'

const UID_STEP = 2 ** 20
const HOUR_MS = 60 * 60 * 1000

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ host: import('../../helpers/restore.js').Host, anna: import('../../../src/accounts/directory-port.js').Account,
 *   generation: string, uidNext: number, lock: import('../../../src/database/lock.js').MailLock }>} a host, and a mailbox of it
 *   out of a backup; `lock`: of a command that only reads it, as `letterlock export`
 */
async function openRestored(t) {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const { uidNext } = await host.inboxOf(ANNA)
  await restore(host, anna)
  const lock = await lockShared(anna.folder, { timeoutMs: 0 })
  return { host, anna, generation, uidNext, lock }
}

/**
 * @param {Awaited<ReturnType<typeof openRestored>>} restored
 */
const restoreInVain = async ({ host, anna, generation: name }) =>
  await assert.rejects(
    restoreAccount({
      directory: host.services.directory,
      target: host.target,
      generation: await host.repository.readGeneration(name),
      account: anna,
      data: host.data,
      clock: host.clock,
      timeoutMs: 50
    }),
    { code: 'BUSY' }
  )

/** @param {Awaited<ReturnType<typeof openRestored>>['host']} host */
const uidNextAtLogin = (host) =>
  withLogin(host.services, ANNA, async (store) => (await store.mailboxStatus('INBOX')).uidNext)

test('a second restore that is called off leaves the UIDs of the first to be lifted', async (t) => {
  const restored = await openRestored(t)
  const { host, uidNext, lock } = restored
  await restoreInVain(restored)
  lock.release()
  assert.equal(await uidNextAtLogin(host), uidNext + UID_STEP)
})

test('who opens a restored mailbox while another restore waits finds the UIDs lifted', async (t) => {
  const { host, anna, generation, uidNext, lock } = await openRestored(t)
  await askForRestore(host, anna, generation)
  assert.equal(await uidNextAtLogin(host), uidNext + UID_STEP)
  lock.release()
})

test('a second restore that is called off leaves the check of the first to be done', async (t) => {
  const restored = await openRestored(t)
  const { host, anna, generation, lock } = restored
  const { directory } = host.services
  await uidNextAtLogin(host)
  await restoreInVain(restored)
  lock.release()
  const checked = await withLogin(host.services, ANNA, (store) =>
    checkRestored({ directory, store, accountId: anna.id })
  )
  assert.deepEqual(checked, { problems: 0 })
  await directory.flush()
  const [event] = await directory.pageAudit({ action: 'restore-checked', limit: 1 })
  assert.equal(event?.detail?.['generation'], generation)
})

/**
 * @param {import('../../helpers/restore.js').Host['services']} services
 * @param {number} messages
 * @returns {Promise<Record<'before' | 'after', { uidNext: number, highestModSeq: number, messageCount: number }>>} the inbox
 *   before so many came, and with them
 */
const fillInbox = (services, messages) =>
  withLogin(services, ANNA, async (store) => {
    const before = await store.mailboxStatus('INBOX')
    for (let nth = 0; nth < messages; nth++)
      await appendOne(store, 'INBOX', makeMessage(`later ${nth}`))
    return { before, after: await store.mailboxStatus('INBOX') }
  })

/**
 * @param {{ uidNext: number, highestModSeq: number }} now
 * @param {{ uidNext: number, highestModSeq: number }} known - to clients
 */
function assertAbove(now, known) {
  assert.ok(now.uidNext >= known.uidNext)
  assert.ok(now.highestModSeq > known.highestModSeq)
}

test('a backup that is restored once more gives no UID or MODSEQ that came after its first restore', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const restoredWith = async (/** @type {number} */ messages, name = generation) => {
    await restore(host, anna, name)
    return await fillInbox(host.services, messages)
  }
  const first = await restoredWith(5)
  const { generation: later } = await host.backUp()
  const second = await restoredWith(1)
  assert.equal(second.before.messageCount, 3)
  assertAbove(second.before, first.after)
  // Nor does one that has the first restore in it.
  const third = await restoredWith(0, later)
  assert.equal(third.before.messageCount, 8)
  assertAbove(third.before, second.after)
})

test('nor does a whole host that is restored once more from the same backup', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  // Of what comes after the backup, its directory knows nothing.
  await restore(host, anna)
  await fillInbox(host.services, 1)
  await restore(host, anna)
  const lost = await fillInbox(host.services, 1)
  const { open } = await openTestAccounts(t)
  const restoredWith = async (/** @type {number} */ messages) => {
    const { settings, restore: restoreThere } = await emptyHost(t, host)
    await restoreThere(generation)
    return await fillInbox(await open(settings), messages)
  }
  host.clock.advance(24 * HOUR_MS)
  const first = await restoredWith(5)
  host.clock.advance(2 * HOUR_MS)
  const second = await restoredWith(0)
  assertAbove(first.before, lost.after)
  assert.equal(second.before.messageCount, 3)
  assertAbove(second.before, first.after)
})
