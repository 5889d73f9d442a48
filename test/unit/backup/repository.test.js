/**
 * The small objects of a place of backups, by their names.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Repository } from '../../../src/backup/repository.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/** @param {import('node:test').TestContext} t */
async function openRepository(t) {
  const target = openFolderTarget(join(await scratchFolder(t), 'target'))
  return { target, repository: new Repository(target) }
}

test('backups that begin in one second have names of their own, in the order in which they were made', async (t) => {
  const { target, repository } = await openRepository(t)
  const names = []
  for (const ms of [0, 1, 999]) {
    const name = await repository.newName(Date.UTC(2026, 0, 2, 3, 4, 5, ms))
    names.push(name)
    await repository.writeGeneration(/** @type {any} */ ({ name }))
  }
  await target.put('generations/what somebody has put there.json', Buffer.from('{}'))
  assert.deepEqual(names, [
    '2026-01-02T03-04-05Z',
    '2026-01-02T03-04-05Z-2',
    '2026-01-02T03-04-05Z-3'
  ])
  assert.deepEqual(await repository.listGenerations(), names)
  for (const name of names) assert.equal((await repository.readGeneration(name)).name, name)
})

test('only what has the name of a backup is read as one, and none of another format', async (t) => {
  const { target, repository } = await openRepository(t)
  await repository.writePartial({ startedAtMs: 1, accounts: [] })
  const missing = { code: 'BACKUP_MISSING' }
  await assert.rejects(repository.readGeneration('../partial'), missing)
  await assert.rejects(repository.readGeneration('2026-01-02T03-04-05Z'), missing)
  for (const [text, code] of /** @type {const} */ ([
    ['{"format":"letterlock/2"}', 'FILE_TOO_NEW'],
    ['{"format":"letterl', 'BACKUP_DAMAGED'],
    ['', 'BACKUP_DAMAGED']
  ])) {
    await target.put('generations/2026-01-02T03-04-05Z.json', Buffer.from(text))
    await assert.rejects(repository.readGeneration('2026-01-02T03-04-05Z'), { code })
  }
})
