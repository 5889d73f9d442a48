/**
 * The restored mailbox takes the place of the one that is there: whoever opens that next finishes what was cut short.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { copyFile, link, mkdir, rename, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { materialize } from '../../../src/backup/materialize.js'
import { readSnapshot } from '../../../src/backup/snapshot-store.js'
import { recordDamage } from '../../../src/accounts/damage.js'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { settleSwitch } from '../../../src/accounts/restored.js'
import { chooseGeneration, requireEntry } from '../../../src/backup/choose.js'
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

/** @param {import('../../../src/store/account-store.js').AccountStore} store */
const countInbox = async (store) => (await store.mailboxStatus('INBOX')).messageCount

test('a restore that died before anybody closed the mailbox keeps nobody out, and is carried out when all have', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation: name } = await host.backUp()
  await host.addMessages(ANNA, 1)
  const { directory } = host.services
  const logInAndCount = () => withLogin(host.services, ANNA, countInbox)

  await withLogin(host.services, ANNA, async () => {
    await askForRestore(host, anna, name)
    assert.equal(await logInAndCount(), 4)
    assert.equal((await directory.findRestore(anna.id))?.state, 'asked')
  })
  assert.equal(await logInAndCount(), 3)
  assert.equal((await directory.findRestore(anna.id))?.state, 'check')
})

test('a damaged mailbox is no longer on record as such once a restored one has taken its place', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 1)
  await host.backUp()
  const { directory } = host.services
  const failing = async () => {
    await directory.flush()
    return (await directory.listMaintenanceFailures()).failingTotal
  }
  recordDamage(host.services, anna.id)
  const damaged = { doneAtMs: 1, failures: 2, failedCode: 'ACCOUNT_DAMAGED', nextTryAtMs: 2 }
  directory.recordMaintenance({ accountId: anna.id, job: 'optimize', state: damaged, run: null })
  assert.equal(await failing(), 2)
  await restore(host, anna)
  assert.equal(await failing(), 0)
})

test('a rekey carries out a restore that is asked for, and gives what comes back the new key', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation: name } = await host.backUp()
  await host.addMessages(ANNA, 1)
  await askForRestore(host, anna, name)
  const { services } = host
  await rekeyAccount({ services, account: anna, password: Buffer.from(PASSWORD) })
  const status = await withLogin(services, ANNA, (store) => store.mailboxStatus('INBOX'))
  assert.equal(status.messageCount, 3)
  assert.equal((await services.directory.findAccount(anna.id))?.keyEpoch, anna.keyEpoch + 1)
})

test('a switch leaves alone what another restore has taken the place of as it begins', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  await askForRestore(host, anna, generation)
  const { directory } = host.services
  let asked = 0
  /** @type {typeof directory.findRestore} */
  const findRestore = async (id) => {
    const found = await directory.findRestore(id)
    if (found && ++asked === 2)
      await directory.beginRestore({ ...found, staged: 'restore-next', replaced: 'replaced-next' })
    return found
  }
  const left = await settleSwitch({ directory: { ...directory, findRestore }, account: anna })
  assert.deepEqual([left?.state, left?.staged], ['asked', 'restore-next'])
  assert.equal(existsSync(join(anna.folder, 'replaced-dead')), false)
})

for (const part of ['mail.db', 'spool']) {
  test(`a switch that cannot tell whether ${part} is staged loses nothing, and goes on later`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 3)
    await deliver(anna, 'waits at the backup')
    const { generation: name } = await host.backUp()
    await drain(host.services, anna)
    const path = join(await askForRestore(host, anna, name), part)
    // A link to itself is what the system answers neither yes nor no about.
    await rename(path, `${path}.kept`)
    await symlink(path, path)
    await assert.rejects(drain(host.services, anna), { code: 'ELOOP' })
    await unlink(path)
    await rename(`${path}.kept`, path)
    assert.equal((await drain(host.services, anna)).delivered, 1)
    assert.equal((await host.inboxOf(ANNA)).count, 4)
  })
}

test('a restore that fails amid its switch keeps what the next unlock goes on with', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  await host.backUp()
  await host.addMessages(ANNA, 1)
  const { directory } = host.services
  const stopped = new Error('stopped')
  /** @type {typeof directory.advanceRestore} */
  const advanceRestore = async (id, step) => {
    const isAdvanced = await directory.advanceRestore(id, step)
    if (step.to === 'switching') throw stopped
    return isAdvanced
  }
  const services = { ...host.services, directory: { ...directory, advanceRestore } }
  await assert.rejects(restore({ ...host, services }, anna), stopped)
  assert.equal((await host.inboxOf(ANNA)).count, 4)
  assert.equal(await withLogin(host.services, ANNA, countInbox), 3)
})

test('a switch that was cut short is finished before another restore begins', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 3)
  const { generation } = await host.backUp()
  const { directory } = host.services
  await askForRestore(host, anna, generation)
  await directory.advanceRestore(anna.id, { from: 'asked', to: 'switching' })
  await mkdir(join(anna.folder, 'replaced-dead'))
  await rename(join(anna.folder, 'mail.db'), join(anna.folder, 'replaced-dead', 'mail.db'))
  // The next one comes to its switch, and is called off there.
  const stopped = new Error('stopped')
  const restoring = restoreAmid(host, anna, async (pending) => {
    await directory.beginRestore(pending)
    throw stopped
  })
  await assert.rejects(restoring, stopped)
  assert.equal((await host.inboxOf(ANNA)).count, 3)
})

for (const interrupted of /** @type {const} */ (['before', 'old away', 'after'])) {
  test(`a switch that was cut short (${interrupted}) is finished by the next unlock`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 5)
    await host.backUp()
    await host.addMessages(ANNA, 2)
    const { directory } = host.services
    // What restoreAccount leaves when it is killed: everything staged, and the row.
    const staged = join(anna.folder, 'restore-x')
    const generation = await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() })
    const snapshot = await readSnapshot(host.target, requireEntry(generation, anna.id).snapshot)
    await materialize({ target: host.target, snapshot, folder: staged })
    await directory.beginRestore({
      accountId: anna.id,
      generation: generation.name,
      state: interrupted === 'before' ? 'asked' : 'switching',
      staged: 'restore-x',
      replaced: 'replaced-x',
      cipher: 'chacha20',
      requestedAtMs: 1
    })
    if (interrupted !== 'before') {
      await mkdir(join(anna.folder, 'replaced-x'))
      await rename(join(anna.folder, 'mail.db'), join(anna.folder, 'replaced-x', 'mail.db'))
    }
    if (interrupted === 'after') await rename(join(staged, 'mail.db'), join(anna.folder, 'mail.db'))

    assert.equal(await withLogin(host.services, ANNA, countInbox), 5)
    assert.equal((await directory.findRestore(anna.id))?.state, 'check')
    assert.equal(existsSync(staged), false)
    assert.ok(existsSync(join(anna.folder, 'replaced-x', 'mail.db')))
  })
}

for (const when of ['before', 'between'])
  test(`a switch that was cut short ${when} the log of a backup and its mailbox keeps both together`, async (t) => {
    const host = await openBackupHost(t)
    const anna = await host.addAccount(ANNA, 5)
    const staged = join(anna.folder, 'restore-x')
    await mkdir(staged)
    await withLogin(host.services, ANNA, async (store) => {
      await appendOne(store, 'INBOX', makeMessage('in the log', 2000))
      for (const name of ['mail.db', 'mail.db-wal'])
        await copyFile(join(anna.folder, name), join(staged, name))
    })
    const { directory } = host.services
    await directory.beginRestore({
      accountId: anna.id,
      generation: '2026-01-01T00-00-00Z',
      state: 'switching',
      staged: 'restore-x',
      replaced: 'replaced-x',
      cipher: 'chacha20',
      requestedAtMs: 1
    })
    await mkdir(join(anna.folder, 'replaced-x'))
    await rename(join(anna.folder, 'mail.db'), join(anna.folder, 'replaced-x', 'mail.db'))
    if (when === 'between')
      await link(join(staged, 'mail.db-wal'), join(anna.folder, 'mail.db-wal'))
    assert.equal(await withLogin(host.services, ANNA, countInbox), 6)
  })
