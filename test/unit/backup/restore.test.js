import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { removeFreezeFile, writeFreezeFile } from '../../../src/database/freeze-file.js'
import { resetAccount } from '../../../src/accounts/change-password.js'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { checkRestored } from '../../../src/accounts/restored.js'
import { restoreAccount } from '../../../src/backup/restore-account.js'
import { lockShared } from '../../../src/database/lock.js'
import { listSpool } from '../../../src/delivery/spool.js'
import { appendOne, makeMessage } from '../../helpers/account-folder.js'
import { openBackupHost } from '../../helpers/backup.js'
import {
  ANNA,
  PASSWORD,
  askForRestore,
  deliver,
  drain,
  restore,
  restoreAmid,
  withLogin
} from '../../helpers/restore.js'

/** @typedef {import('../../../src/accounts/directory-port.js').Account} Account */

const UID_STEP = 2 ** 20
const MODSEQ_STEP = 2 ** 32

test('a mailbox comes back as it was, the one of before is kept, and no UID or MODSEQ comes again', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 10)
  const { generation } = await host.backUp()
  const then = await host.inboxOf(ANNA)
  await host.addMessages(ANNA, 7)
  const before = await host.inboxOf(ANNA)

  const { replaced } = await restore(host, anna, generation)
  assert.ok(replaced && existsSync(join(replaced, 'mail.db')))
  const after = await withLogin(host.services, ANNA, async (store) => {
    const status = await store.mailboxStatus('INBOX')
    const expunged = await store.readExpunged(status.id, before.highestModSeq)
    const { view } = await store.openView('INBOX')
    const modSeqs = [...view.modSeqs.subarray(0, view.length)]
    store.closeView(view)
    return { ...status, expunged, modSeqs }
  })
  assert.equal(after.messageCount, 10)
  assert.equal(after.uidValidity, then.uidValidity)
  assert.equal(after.uidNext, then.uidNext + UID_STEP)
  assert.equal(after.highestModSeq, then.highestModSeq + MODSEQ_STEP)
  assert.ok(after.modSeqs.every((modSeq) => modSeq > before.highestModSeq))
  // Who comes with a MODSEQ of before is told of every UID that is not there.
  assert.equal(after.expunged.isComplete, false)
  // Once, not at each unlock.
  assert.equal((await host.inboxOf(ANNA)).uidNext, after.uidNext)
})

test('a restored mailbox is checked with its key, once, after the first unlock', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  await host.backUp()
  await restore(host, anna)
  const { directory } = host.services
  const check = () =>
    withLogin(host.services, ANNA, (store) =>
      checkRestored({ directory, store, accountId: anna.id })
    )
  assert.deepEqual(await check(), { problems: 0 })
  assert.equal(await check(), null)
  await directory.flush()
  const actions = (await directory.pageAudit({ accountId: anna.id, limit: 100 })).map(
    ({ action }) => action
  )
  assert.ok(actions.includes('restore-switched') && actions.includes('restore-checked'))
})

test('mail that arrived since stays in the spool, and what was waiting then waits again', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA)
  await deliver(anna, 'drained before the backup')
  await drain(host.services, anna)
  const waiting = await deliver(anna, 'waits at the backup')
  await host.backUp()
  assert.equal((await drain(host.services, anna)).delivered, 1)
  const later = await deliver(anna, 'after the backup')

  await restore(host, anna)
  const names = (await listSpool(join(anna.folder, 'spool'))).map(({ name }) => name)
  assert.deepEqual(names.sort(), [waiting.name, later.name].sort())
  assert.equal((await drain(host.services, anna)).delivered, 2)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})

test('what was taken in while the backup ran is delivered once', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA)
  const { name } = await deliver(anna, 'in between')
  const path = join(anna.folder, 'spool', name)
  // As if the backup had read the spool file, and then mail.db after the owner took the file in: with mail.freeze there,
  // the name stays in the mailbox.
  await copyFile(path, join(host.data, 'kept'))
  await writeFreezeFile(anna.folder, { token: 'a', deadlineMs: Date.now() + 60_000 })
  assert.equal((await drain(host.services, anna)).delivered, 1)
  await removeFreezeFile(anna.folder, 'a')
  await host.backUp()
  await copyFile(join(host.data, 'kept'), path)
  await restore(host, anna)
  assert.equal((await drain(host.services, anna)).delivered, 0)
  assert.equal((await host.inboxOf(ANNA)).count, 1)
})

test('while somebody keeps the mailbox open, nothing changes', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation: name } = await host.backUp()
  await host.addMessages(ANNA, 1)
  const lock = await lockShared(anna.folder, { timeoutMs: 0 })
  const generation = await host.repository.readGeneration(name)
  const { directory } = host.services
  await assert.rejects(
    restoreAccount({
      directory,
      target: host.target,
      generation,
      account: anna,
      data: host.data,
      clock: host.clock,
      timeoutMs: 50
    }),
    { code: 'BUSY' }
  )
  lock.release()
  assert.equal(await directory.findRestore(anna.id), null)
  assert.equal((await host.inboxOf(ANNA)).count, 4)
  assert.deepEqual(
    readdirSync(anna.folder).filter((entry) => /^(restore|replaced)/.test(entry)),
    []
  )
})

test('a damaged backup never takes a mailbox’s place', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const { accounts } = await host.repository.readGeneration(generation)
  const pack = accounts[0]?.snapshot.pack ?? ''
  const path = join(host.folder, 'packs', pack.slice(0, 2), `${pack}.pack`)
  const bytes = await readFile(path)
  bytes[5000] = (bytes[5000] ?? 0) ^ 1
  await writeFile(path, bytes)
  await assert.rejects(restore(host, anna), { code: 'BACKUP_DAMAGED' })
  assert.equal(await host.services.directory.findRestore(anna.id), null)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})

/** @param {import('../../helpers/restore.js').Host} host */
const damagePacks = async (host) => {
  const packs = join(host.folder, 'packs')
  for (const entry of await readdir(packs, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) await writeFile(join(entry.parentPath, entry.name), 'damaged')
  }
}

test('a restore that fails while it is staged leaves alone what another asks for', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const { directory } = host.services
  const earlier = {
    accountId: anna.id,
    generation,
    state: /** @type {const} */ ('asked'),
    staged: 'restore-earlier',
    replaced: 'replaced-earlier',
    cipher: null,
    requestedAtMs: 1
  }
  await directory.beginRestore(earlier)
  await damagePacks(host)
  await assert.rejects(restore(host, anna), { code: 'BACKUP_DAMAGED' })
  assert.deepEqual(await directory.findRestore(anna.id), earlier)
})

test('what restores that were killed have staged takes no room once another has been made', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  await askForRestore(host, anna, generation)
  // Killed while it was staged, before it was asked for.
  await mkdir(join(anna.folder, 'restore-begun', 'spool'), { recursive: true })
  const { replaced } = await restore(host, anna)
  assert.ok(replaced)
  assert.deepEqual(
    readdirSync(anna.folder).filter((entry) => /^(restore|replaced)-/.test(entry)),
    [basename(replaced)]
  )
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})

test('a mailbox comes back whose folder is gone, with all mail that waited, and nothing is said to be kept of it', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const spool = join(anna.folder, 'spool')
  const { name } = await deliver(anna, 'waits')
  // What does not open is set aside.
  const aside = join('aside', `${'a'.repeat(32)}.sealed`)
  await mkdir(join(spool, 'aside'), { recursive: true })
  await writeFile(join(spool, aside), 'does not open')
  await host.backUp()
  await rm(anna.folder, { recursive: true })
  assert.equal((await restore(host, anna)).replaced, null)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
  for (const path of [name, aside]) assert.ok(existsSync(join(spool, path)), path)
  assert.deepEqual(
    readdirSync(anna.folder).filter((entry) => /^(restore|replaced)-/.test(entry)),
    []
  )
})

test('a log without its mailbox is kept, and is no part of the one that comes back', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  await host.backUp()
  const path = join(anna.folder, 'mail.db')
  const log = await withLogin(host.services, ANNA, async (store) => {
    for (let i = 0; i < 20; i++) await appendOne(store, 'INBOX', makeMessage('later', 20_000))
    return await readFile(`${path}-wal`)
  })
  await rm(path)
  await writeFile(`${path}-wal`, log)
  const { replaced } = await restore(host, anna)
  assert.ok(replaced)
  assert.deepEqual(await readFile(join(replaced, 'mail.db-wal')), log)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})

/** @type {Record<string, (host: import('../../helpers/restore.js').Host, account: Account) => Promise<unknown>>} */
const CALLED_OFF_BY = {
  'a reset': ({ services }, account) =>
    resetAccount({ services, account, newPassword: Buffer.from('another secret') }),
  'another restore': (host, account) => restore(host, account)
}

for (const [what, callOff] of Object.entries(CALLED_OFF_BY)) {
  test(`a restore that ${what} has called off meanwhile says so`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 3)
    await host.backUp()
    const { directory } = host.services
    const calledOff = restoreAmid(host, anna, async (pending) => {
      await directory.beginRestore(pending)
      await callOff(host, anna)
    })
    await assert.rejects(calledOff, { code: 'RESTORE_REFUSED', detail: /called off/ })
    const left = existsSync(anna.folder) ? readdirSync(anna.folder) : []
    assert.deepEqual(
      left.filter((entry) => entry.startsWith('restore-')),
      []
    )
  })
}

test('a restore leaves a mailbox alone that has got another key while it was staged', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  await host.backUp()
  const { services } = host
  const { directory, unlocker } = services
  const overtaken = restoreAmid(host, anna, async (pending) => {
    unlocker.forget(anna.id)
    await rekeyAccount({ services, account: anna, password: Buffer.from(PASSWORD) })
    await directory.beginRestore(pending)
  })
  await assert.rejects(overtaken, { code: 'RESTORE_REFUSED', detail: /another key/ })
  assert.equal(await directory.findRestore(anna.id), null)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})
