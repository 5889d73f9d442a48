import assert from 'node:assert/strict'
import { readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkBackup } from '../../../src/admin/health.js'
import { createBackupList } from '../../../src/backup/backup-list.js'
import { pruneBackups } from '../../../src/backup/prune.js'
import { initBackups } from '../../../src/backup/init.js'
import { rehearseRestore } from '../../../src/backup/rehearse.js'
import { Repository, packObject } from '../../../src/backup/repository.js'
import { runBackup } from '../../../src/backup/run.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { checkBackups } from '../../../src/cli/doctor/backups.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { openTestAccounts } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'

test('where it cannot be read whether backups are set up, the list says so and does not fail', async (t) => {
  const host = await openBackupHost(t)
  await writeFile(join(host.config.data, 'backup.json'), '{')
  const { directory } = host.services
  const backups = createBackupList({ config: host.config, directory, clock: host.clock })
  const { generations, problem } = await backups.list()
  assert.deepEqual(generations, [])
  assert.match(problem ?? '', /backup\.json cannot be read$/)
})

test('where no backups are set up, that is told, and no trouble', async (t) => {
  const { services } = await openTestAccounts(t)
  const { isSetUp, problem } = await createBackupList(services).list()
  assert.deepEqual([isSetUp, problem], [false, null])
  const { status, text } = await checkBackups({ services })
  assert.deepEqual([status, text], ['fail', 'None are set up'])
})

test('each backup is listed with what its run has told, the newest first; a fault of the program is none of their place', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 5)
  const first = await host.backUp()
  await host.addAccount('bob@example.org', 1)
  const second = await host.backUp()
  assert.ok(second.sharedBytes > 0 && second.newBytes > 0)
  const list = createBackupList({ ...host.services, clock: host.clock })
  const rows = [second, first].map(({ generation: name, failed, ...figures }, nth) => ({
    name,
    startedAtMs: host.clock.nowMs() - nth * 60 * 60 * 1000,
    failed: failed.length,
    ...figures
  }))
  assert.deepEqual((await list.list()).generations, rows)
  await host.services.close()
  await assert.rejects(list.list(), TypeError)
})

/** @param {Awaited<ReturnType<typeof openBackupHost>>} host */
function lookAt(host) {
  const { services, config, clock } = host
  const list = createBackupList({ config, directory: services.directory, clock })
  return {
    prune: () => pruneBackups({ ...services, target: host.target }),
    rehearse: () => rehearseRestore({ ...services, target: host.target, accounts: 9 }),
    told: async () => {
      const { status, text } = checkBackup(await list.list(), clock.nowMs())
      const doctor = await checkBackups({ services })
      return { health: status, doctor: doctor.status, text, doctorText: doctor.text }
    }
  }
}

test('an account that a rehearsal could not restore is told until a backup has stored all of it anew', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount('anna@example.org', 20, 30_000)
  const { newBytes: ofAnna } = await host.backUp()
  await host.addAccount('bob@example.org', 2)
  const { generation } = await host.backUp()
  const { rehearse, told } = lookAt(host)
  assert.equal((await told()).health, 'ok')
  const { accounts } = await host.repository.readGeneration(generation)
  const pack = packObject(accounts.find(({ id }) => id === anna.id)?.snapshot.pack ?? '')
  const path = join(host.folder, pack)
  const bytes = await readFile(path)
  bytes[100_000] = (bytes[100_000] ?? 0) ^ 1
  await writeFile(path, bytes)
  const { failed } = await rehearse()
  assert.deepEqual(failed, [{ id: anna.id, code: 'BACKUP_DAMAGED' }])
  const after = await told()
  assert.deepEqual([after.health, after.doctor], ['fail', 'fail'])
  for (const text of [after.text, after.doctorText])
    assert.match(
      text,
      new RegExp(`1 account could not be restored in a rehearsal, first ${anna.id}`)
    )

  // Of a backup in another place that one is none the better.
  const target = openFolderTarget(await scratchFolder(t))
  const repository = new Repository(target)
  const { clock, services } = host
  await initBackups({ data: host.data, repository, clock, showKey: assert.fail })
  await runBackup({ ...services, clock, target })
  assert.equal((await told()).health, 'fail')

  const { newBytes, sharedBytes } = await host.backUp()
  assert.deepEqual([newBytes, sharedBytes > 0], [ofAnna, true])
  assert.equal((await told()).health, 'ok')
  assert.deepEqual((await rehearse()).failed, [])
  assert.equal((await told()).health, 'ok')
})

test('a prune and a rehearsal that fail as a whole are told until they go well', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org', 1)
  await host.backUp()
  const { prune, rehearse, told } = lookAt(host)
  for (const [job, what, run] of /** @type {const} */ ([
    ['prune', 'generations', prune],
    ['rehearsal', 'pepper', rehearse]
  ])) {
    const folder = join(host.folder, what)
    const [name = ''] = await readdir(folder)
    await rename(join(folder, name), join(folder, `${name}.moved`))
    await assert.rejects(run(), { code: 'BACKUP_DAMAGED' })
    await rename(join(folder, `${name}.moved`), join(folder, name))
    const { health, text, doctor } = await told()
    assert.match(text, new RegExp(`the last ${job} failed: BACKUP_DAMAGED \\(.* is missing`))
    assert.deepEqual([health, doctor], ['fail', 'fail'])
    await run()
    assert.equal((await told()).health, 'ok')
  }
})
