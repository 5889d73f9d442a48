/**
 * What is still needed of each pack: by that, packs are written anew or go.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Marks } from '../../../src/backup/marks.js'
import { PackWriter } from '../../../src/backup/pack-writer.js'
import { Repository } from '../../../src/backup/repository.js'
import { SnapshotBuilder, UNIT_BYTES } from '../../../src/backup/snapshot-format.js'
import { writeSnapshot } from '../../../src/backup/snapshot-store.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { scratchFolder } from '../../helpers/account-folder.js'

test('a unit that several backups share is counted once, and each snapshot as well', async (t) => {
  const target = openFolderTarget(await scratchFolder(t))
  const packs = new PackWriter({ target, scratchFolder: await scratchFolder(t) })
  const facts = { accountId: '0123456789abcdef', keyEpoch: 1, cipher: null }
  const shared = { pack: 'ab'.repeat(16), offset: 0 }
  const pointers = []
  for (let number = 1; number <= 3; number++) {
    const builder = new SnapshotBuilder()
    builder.startFile({ path: 'mail.db', size: 2 * UNIT_BYTES + 100 })
    // One place twice, as of pages that are alike.
    builder.addUnit(randomBytes(32), shared)
    builder.addUnit(randomBytes(32), shared)
    builder.addUnit(randomBytes(32), { ...shared, offset: number * UNIT_BYTES })
    pointers.push(await writeSnapshot(packs, builder.finish(facts), null))
  }
  await packs.flush()
  const marks = new Marks()
  const entries = pointers.map((snapshot, index) => ({
    id: facts.accountId,
    keys: `keys/${index}`,
    snapshot
  }))
  const all = /** @type {import('../../../src/backup/repository.js').AccountEntry[]} */ (entries)
  marks.addEntries(all)
  marks.addEntries(all.slice(1))
  await marks.countUnits(new Repository(target))
  assert.deepEqual(
    [...marks.packs].sort(),
    [
      [shared.pack, UNIT_BYTES + 3 * 100],
      [pointers[0]?.pack, pointers.reduce((sum, { size }) => sum + size, 0)]
    ].sort()
  )
  assert.deepEqual([...marks.objects], ['keys/0', 'keys/1', 'keys/2'])
})
