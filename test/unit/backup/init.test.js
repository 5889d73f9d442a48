/**
 * Whose backups they are: of which host, in which place, to which recovery keys.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readHostState } from '../../../src/backup/host-state.js'
import { initBackups } from '../../../src/backup/init.js'
import { Repository } from '../../../src/backup/repository.js'
import { runBackup } from '../../../src/backup/run.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { MailError, isMailError } from '../../../src/errors.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { openTestAccounts } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'

test('without backup init, or into another host’s backups, nothing is stored', async (t) => {
  const host = await openBackupHost(t)
  const other = await openBackupHost(t)
  const { config, logger, clock } = other.services
  const initThere = () =>
    initBackups({
      data: other.data,
      repository: host.repository,
      clock,
      showKey: () => assert.fail('no key may be made')
    })
  await assert.rejects(runBackup({ config, logger, clock, target: host.target }), {
    code: 'BACKUP_NOT_READY'
  })
  await assert.rejects(initThere(), { code: 'BACKUP_NOT_READY' })
  await rm(join(other.data, 'backup.json'))
  await assert.rejects(other.backUp(), { code: 'BACKUP_NOT_READY' })
  // Nor is the operator sent round in a circle where nothing was set up yet.
  await assert.rejects(initThere(), {
    code: 'BACKUP_NOT_READY',
    detail: `${host.folder} holds the backups of another host`
  })
})

test('a recipient that is none is refused before anything is set up', async (t) => {
  const { data, clock } = await openTestAccounts(t)
  const folder = await scratchFolder(t)
  const repository = new Repository(openFolderTarget(folder))
  for (const recipient of ['', 'age1', 'anna@example.org', `age1${'q'.repeat(58)}`])
    await assert.rejects(
      initBackups({
        data,
        repository,
        clock,
        recipient,
        showKey: () => assert.fail('the key is the operator’s own')
      }),
      { code: 'CONFIG_INVALID' },
      recipient
    )
  assert.equal(await readHostState(data), null)
  assert.deepEqual(await readdir(folder), [])
})

test('backups are not set up in what they are of, nor around it', async (t) => {
  const { data, clock } = await openTestAccounts(t)
  const elsewhere = await scratchFolder(t)
  const link = join(elsewhere, 'link')
  await symlink(data, link)
  const init = (/** @type {string} */ folder, showKey = () => {}) =>
    initBackups({ data, repository: new Repository(openFolderTarget(folder)), clock, showKey })
  /** @type {[string, RegExp][]} */
  const places = [
    [data, / is the data folder itself: set backup\.folder to one of its own/],
    [link, / is the data folder itself/],
    [join(data, 'mail'), / lies in the data folder/],
    [join(data, 'tmp', 'backup-1'), / lies in the data folder/],
    [join(link, 'new', 'one'), / lies in the data folder/],
    [dirname(data), / has the data folder .* in it/],
    ['/', / has the data folder .* in it/]
  ]
  const before = await readdir(data)
  for (const [folder, why] of places)
    await assert.rejects(
      init(folder, () => assert.fail('no key may be made')),
      (error) => isMailError(error, 'BACKUP_NOT_READY') && why.test(error.detail ?? ''),
      folder
    )
  assert.deepEqual(
    (await readdir(data)).filter((name) => !['run', 'tmp'].includes(name)),
    before
  )
  await init(join(data, 'backup'))
  await init(`${data}-beside`)
  t.after(() => rm(`${data}-beside`, { recursive: true }))
})

test('backups that are set up twice at once show one key, which opens them', async (t) => {
  const { services, data, clock } = await openTestAccounts(t)
  const target = openFolderTarget(await scratchFolder(t))
  /** @type {string[]} */
  const shown = []
  const showKey = (/** @type {string} */ key) => {
    shown.push(key)
  }
  const init = { data, repository: new Repository(target), clock, showKey }
  const results = await Promise.allSettled([initBackups(init), initBackups(init)])
  assert.deepEqual(
    results.map((result) => (result.status === 'rejected' ? result.reason.code : 'done')).sort(),
    ['BACKUP_RUNNING', 'done']
  )
  const { config, logger } = services
  const { generation } = await runBackup({ config, logger, clock, target })
  const { pepper } = await init.repository.readGeneration(generation)
  const sealed = await target.get(pepper)
  assert.ok(sealed)
  const [key = '', ...others] = shown
  assert.deepEqual(others, [])
  assert.equal((await (await RecoveryKey.parse(key)).open(sealed)).length, 32)
})

test('a place that fails behind the key leaves that the key of the host, and says so', async (t) => {
  const { data, clock } = await openTestAccounts(t)
  const target = openFolderTarget(await scratchFolder(t))
  /** @type {string[]} */
  const shown = []
  const initInto = (/** @type {Pick<typeof target, 'put'>} */ { put }) => {
    const repository = new Repository({ ...target, put })
    const showKey = (/** @type {string} */ key) => {
      shown.push(key)
    }
    return initBackups({ data, repository, clock, showKey })
  }
  const away = async () => {
    throw new MailError('BACKUP_UNREACHABLE', { detail: 'the share is gone' })
  }
  await assert.rejects(initInto({ put: away }), {
    code: 'BACKUP_UNREACHABLE',
    detail: /^the share is gone; keep the recovery key that was shown: give the command again/
  })
  const { recipient } = await initInto(target)
  assert.deepEqual(
    await Promise.all(shown.map(async (key) => (await RecoveryKey.parse(key)).recipient)),
    [recipient]
  )
})

test('a recipient that somebody put into the target alone is never sealed to', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org')
  const marker = await host.repository.readMarker()
  assert.ok(marker)
  const thief = await openBackupHost(t)
  const theirs = await thief.repository.readMarker()
  await host.repository.writeMarker({ ...marker, recipient: theirs?.recipient ?? '' })
  const { generation } = await host.backUp()
  const { pepper } = await host.repository.readGeneration(generation)
  const sealed = await host.target.get(pepper)
  assert.ok(sealed)
  await assert.rejects((await RecoveryKey.parse(thief.recoveryKey)).open(sealed))
  assert.equal((await (await RecoveryKey.parse(host.recoveryKey)).open(sealed)).length, 32)
})

test('after another recovery key was set, everything sealed is there for it too', async (t) => {
  const host = await openBackupHost(t)
  await host.addAccount('anna@example.org')
  await host.backUp()
  const other = await openBackupHost(t)
  const { recipient = '' } = (await other.repository.readMarker()) ?? {}
  await initBackups({
    data: host.data,
    repository: host.repository,
    clock: host.clock,
    recipient,
    showKey: () => assert.fail('the key is the operator’s own')
  })
  const { generation } = await host.backUp()
  const { pepper, directory, accounts } = await host.repository.readGeneration(generation)
  const key = await RecoveryKey.parse(other.recoveryKey)
  for (const object of [pepper, directory, accounts[0]?.keys ?? '']) {
    const sealed = await host.target.get(object)
    assert.ok(sealed, object)
    await key.open(sealed)
  }
})
