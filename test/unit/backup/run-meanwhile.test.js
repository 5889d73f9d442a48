/**
 * What else happens while a backup runs: other keys, accounts that go, a place that is lost.
 */
import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import { packObject } from '../../../src/backup/repository.js'
import { runBackup } from '../../../src/backup/run.js'
import { verifyBackups } from '../../../src/backup/verify.js'
import { MailError } from '../../../src/errors.js'
import { openBackupHost } from '../../helpers/backup.js'
import { recordingLogger } from '../../helpers/log-lines.js'

/**
 * A backup, at the end of whose copies an account has been given other keys, as by another process.
 *
 * @param {Awaited<ReturnType<typeof openBackupHost>>} host
 * @param {{ accountId: string, times: number }} options
 */
async function backUpAmidRekeys(host, { accountId, times }) {
  const { config, logger } = host.services
  const db = new Database(join(host.data, 'directory.db'))
  const change = db.prepare('UPDATE accounts SET key_epoch = key_epoch + 1 WHERE id = ?')
  let left = times
  try {
    return await runBackup({
      config,
      logger,
      clock: host.clock,
      target: host.target,
      onProgress: ({ accounts, accountsTotal, bytes, bytesTotal }) => {
        assert.ok(accounts <= accountsTotal && bytes <= bytesTotal)
        if (accounts === accountsTotal && left-- > 0) change.run(accountId)
      }
    })
  } finally {
    db.close()
  }
}

test('a mailbox whose keys change while the backup runs is copied once more', async (t) => {
  const host = await openBackupHost(t)
  const { id: accountId } = await host.addAccount('anna@example.org', 3)
  await host.addAccount('bob@example.org')
  const { generation: name, failed } = await backUpAmidRekeys(host, { accountId, times: 1 })
  assert.deepEqual(failed, [])
  const generation = await host.repository.readGeneration(name)
  const { directory } = host.services
  for (const { id, keyEpoch } of generation.accounts)
    assert.equal(keyEpoch, (await directory.findAccount(id))?.keyEpoch)
  assert.equal(generation.accounts.find(({ id }) => id === accountId)?.keyEpoch, 2)
})

test('one whose keys keep changing is told as left out, and in no backup with keys that do not open it', async (t) => {
  const host = await openBackupHost(t)
  const address = 'anna@example.org'
  const { id: accountId } = await host.addAccount(address, 3)
  const bob = await host.addAccount('bob@example.org')
  const summary = await backUpAmidRekeys(host, { accountId, times: Infinity })
  assert.deepEqual(summary.failed, [{ id: accountId, address, code: 'BUSY' }])
  assert.equal(summary.accounts, 1)
  const { accounts } = await host.repository.readGeneration(summary.generation)
  assert.deepEqual(
    accounts.map(({ id }) => id),
    [bob.id]
  )
})

test('an account that is deleted while the backup runs is not in it, and is not told as left out', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 3)
  const bob = await host.addAccount('bob@example.org')
  const carl = await host.addAccount('carl@example.org')
  await rm(join(bob.folder, 'mail.db'))
  const { config, directory, logger } = host.services
  /** @type {Promise<unknown>[]} */
  const deletions = []
  const summary = await runBackup({
    config,
    logger,
    clock: host.clock,
    target: host.target,
    onProgress: ({ accounts, accountsTotal }) => {
      if (accounts < accountsTotal || deletions.length > 0) return
      for (const { id } of [anna, bob]) deletions.push(directory.deleteAccount(id))
    }
  })
  await Promise.all(deletions)
  assert.deepEqual([summary.accounts, summary.failed], [1, []])
  const { accounts } = await host.repository.readGeneration(summary.generation)
  assert.deepEqual(
    accounts.map(({ id }) => id),
    [carl.id]
  )
})

test('an account that is deleted with its files while they are copied is not blamed in the log', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 3)
  const bob = await host.addAccount('bob@example.org')
  const { logger, lines } = recordingLogger()
  const db = new Database(join(host.data, 'directory.db'))
  t.after(() => db.close())
  db.pragma('foreign_keys = OFF')
  const tables = ['addresses', 'account_seals', 'credentials', 'seal_identities']
  const summary = await runBackup({
    config: host.services.config,
    logger,
    clock: host.clock,
    target: host.target,
    onProgress: ({ accounts, bytesRead }) => {
      if (accounts > 0 || bytesRead === 0 || !existsSync(anna.folder)) return
      // As by another process, between two reads.
      for (const table of tables)
        db.prepare(`DELETE FROM ${table} WHERE account_id = ?`).run(anna.id)
      db.prepare('DELETE FROM accounts WHERE id = ?').run(anna.id)
      rmSync(anna.folder, { recursive: true })
    }
  })
  const { accounts } = await host.repository.readGeneration(summary.generation)
  assert.deepEqual([accounts.map(({ id }) => id), summary.failed], [[bob.id], []])
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    []
  )
})

test('where the place of the backups cannot be reached amid a run, the run ends, and no mailbox is blamed', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 3)
  const { generation } = await host.backUp()
  await host.addMessages('anna@example.org', 1)
  const { config, logger } = host.services
  /** @type {typeof host.target} */
  const target = {
    ...host.target,
    getRange: async () => {
      throw new MailError('BACKUP_UNREACHABLE')
    }
  }
  host.clock.advance(1000)
  await assert.rejects(runBackup({ config, logger, clock: host.clock, target }), {
    code: 'BACKUP_UNREACHABLE'
  })
  assert.deepEqual(await host.repository.listGenerations(), [generation])
})

/**
 * @param {Awaited<ReturnType<typeof openBackupHost>>} host
 * @param {() => void | Promise<void>} amid - at the end of the copies
 */
async function backUpAmid(host, amid) {
  const { config, logger } = host.services
  /** @type {Promise<void> | undefined} */
  let done
  const { target } = host
  host.clock.advance(60 * 60 * 1000)
  return await runBackup({
    config,
    logger,
    clock: host.clock,
    target: {
      ...target,
      put: async (name, bytes) => {
        await (done ??= (async () => amid())())
        await target.put(name, bytes)
      }
    }
  })
}

test('a backup that builds on what is removed meanwhile is not made, and the next one stores it anew', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 20, 30_000)
  const { generation } = await host.backUp()
  // Its keys are put, whatever else there is.
  await host.addAccount('bob@example.org')
  const { accounts } = await host.repository.readGeneration(generation)
  const pack = join(host.folder, packObject(accounts[0]?.snapshot.pack ?? ''))
  await assert.rejects(
    backUpAmid(host, () => rm(pack)),
    { code: 'BACKUP_DAMAGED' }
  )
  assert.deepEqual(await host.repository.listGenerations(), [generation])
  const { generation: next } = await host.backUp()
  const { problems } = await verifyBackups({ repository: host.repository, generations: [next] })
  assert.deepEqual(problems, [])
})

test('a backup amid which another host has taken over leaves nothing there', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 1)
  const { repository } = host
  const running = backUpAmid(host, async () => {
    const marker = await repository.readMarker()
    assert.ok(marker)
    await repository.writeMarker({ ...marker, hostId: 'another' })
  })
  await assert.rejects(running, { code: 'BACKUP_NOT_READY' })
  assert.deepEqual(await repository.listGenerations(), [])
  assert.equal(await repository.readPartial(), null)
})
