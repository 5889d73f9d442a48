/**
 * A mailbox that a restore has put in place, and that nobody has opened since, while another restore of it is asked for.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { restoreAccount } from '../../../src/backup/restore-account.js'
import { checkRestored } from '../../../src/accounts/restored.js'
import { lockShared } from '../../../src/database/lock.js'
import { appendOne, makeMessage } from '../../helpers/account-folder.js'
import { openBackupHost } from '../../helpers/backup.js'
import { ANNA, askForRestore, restore, withLogin } from '../../helpers/restore.js'

const UID_STEP = 2 ** 20

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

test('a backup that is restored once more gives no UID or MODSEQ that came after its first restore', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const restoredWith = async (/** @type {number} */ messages, name = generation) => {
    await restore(host, anna, name)
    return await withLogin(host.services, ANNA, async (store) => {
      const before = await store.mailboxStatus('INBOX')
      for (let nth = 0; nth < messages; nth++)
        await appendOne(store, 'INBOX', makeMessage(`later ${nth}`))
      return { before, after: await store.mailboxStatus('INBOX') }
    })
  }
  const { after: first } = await restoredWith(5)
  const { generation: later } = await host.backUp()
  const { before: second, after: third } = await restoredWith(1)
  assert.equal(second.messageCount, 3)
  assert.ok(second.uidNext >= first.uidNext)
  assert.ok(second.highestModSeq > first.highestModSeq)
  // Nor does one that has the first restore in it.
  const { before: fourth } = await restoredWith(0, later)
  assert.equal(fourth.messageCount, 8)
  assert.ok(fourth.uidNext >= third.uidNext)
  assert.ok(fourth.highestModSeq > third.highestModSeq)
})
