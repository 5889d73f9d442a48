import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createBackupList } from '../../../src/backup/backup-list.js'
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
