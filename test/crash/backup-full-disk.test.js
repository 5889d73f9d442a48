/**
 * A disk that is nearly full takes a part of a write: what a backup takes for written must be all there.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { chooseGeneration, requireEntry } from '../../src/backup/choose.js'
import { KnownUnits } from '../../src/backup/known-units.js'
import { materialize } from '../../src/backup/materialize.js'
import { withOpenCopy } from '../../src/backup/open-copy.js'
import { PackWriter } from '../../src/backup/pack-writer.js'
import { RateLimit } from '../../src/backup/rate-limit.js'
import { restoreAsNewAccount } from '../../src/backup/new-account.js'
import { rehearseRestore } from '../../src/backup/rehearse.js'
import { restoreAccount } from '../../src/backup/restore-account.js'
import { SnapshotBuilder, UNIT_BYTES } from '../../src/backup/snapshot-format.js'
import { Staging, sha256 } from '../../src/backup/staging.js'
import { openFolderTarget } from '../../src/backup/targets/folder.js'
import { errorCodeOf } from '../../src/database/sqlite-error.js'
import { appendOne, scratchFolder } from '../helpers/account-folder.js'
import { logIn } from '../helpers/accounts.js'
import { openBackupHost } from '../helpers/backup.js'
import { ANNA, PASSWORD, withLogin } from '../helpers/restore.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'

const DISK_BYTES = 4 * 1024 * 1024

/** Room for one unit and a part of the next. */
const LEFT_BYTES = UNIT_BYTES + UNIT_BYTES / 2

const options = { skip: smallDiskIsMissing }

/** @param {Promise<unknown>} work */
async function assertFull(work) {
  await assert.rejects(work, (error) =>
    /^(ENOSPC|DISK_FULL|SCRATCH_FULL)$/.test(errorCodeOf(error))
  )
}

test('a mailbox of which the scratch file takes a part only is not read', options, async (t) => {
  const { root, fill } = smallDisk(t, DISK_BYTES)
  const source = join(await scratchFolder(t), 'mail.db')
  const size = 2 * UNIT_BYTES
  await writeFile(source, randomBytes(size))
  const staging = await Staging.open(join(root, 'units'), new RateLimit(0))
  fill(LEFT_BYTES)
  const known = new KnownUnits([])
  await assertFull(staging.stage({ source, path: 'mail.db', size, known, onRead: () => {} }))
  await staging.close()
})

test(
  'a mailbox that the scratch folder has no room for stops no other, and leaves room to the mail',
  options,
  async (t) => {
    const { root } = smallDisk(t, 8 * 1024 * 1024)
    const host = await openBackupHost(t)
    await host.addAccount(ANNA)
    await withLogin(host.services, ANNA, async (store) => {
      for (let i = 0; i < 12; i++)
        await appendOne(store, 'INBOX', Buffer.from(randomBytes(1024 * 1024).toString('base64')))
    })
    const small = ['bob@example.org', 'carl@example.org']
    for (const address of small) await host.addAccount(address, 1)
    await rm(join(host.data, 'tmp'), { recursive: true, force: true })
    await symlink(root, join(host.data, 'tmp'))
    const { accounts, failed } = await host.backUp()
    assert.equal(accounts, small.length)
    assert.deepEqual(
      failed.map(({ address, code }) => [address, code]),
      [[ANNA, 'SCRATCH_FULL']]
    )

    // With room enough it is in the backup, and too large to be rehearsed where there is less again.
    const tmp = join(host.data, 'tmp')
    await rm(tmp)
    await mkdir(tmp)
    assert.deepEqual((await host.backUp()).failed, [])
    await rm(tmp, { recursive: true })
    await symlink(root, tmp)
    const rehearsal = { ...host.services, target: host.target, accounts: 3 }
    const rehearsed = await rehearseRestore(rehearsal)
    assert.deepEqual([rehearsed.accounts, rehearsed.failed], [small.length, []])

    // Nor is it opened there, to be verified or for a folder of it.
    const { services, repository, target, clock } = host
    const generation = await chooseGeneration(repository, { nowMs: clock.nowMs() })
    const { account, masterKey } = await logIn(services, PASSWORD, { username: ANNA })
    const entry = requireEntry(generation, account.id)
    const copy = { target, entry, masterKey, folder: join(root, 'copy'), clock }
    let bytesRead = 0
    const onRead = (/** @type {number} */ bytes) => (bytesRead += bytes)
    await assert.rejects(
      withOpenCopy({ ...copy, onRead }, async () => {}),
      { code: 'SCRATCH_FULL' }
    )
    masterKey.dispose()
    assert.equal(bytesRead, 0)

    // Nor restored: the disk would be full until that was known.
    const restore = { target, generation, data: host.data, clock, onRead }
    const there = { ...account, folder: join(root, 'mail') }
    const { directory, config } = services
    await assert.rejects(restoreAccount({ ...restore, directory, account: there }), {
      code: 'DISK_FULL'
    })
    const another = { ...account, id: 'another', folder: join(root, 'domain', 'another') }
    const made = { account: /** @type {any} */ (another), services: { directory, config }, entry }
    await assert.rejects(restoreAsNewAccount({ ...restore, ...made, action: 'restore' }), {
      code: 'DISK_FULL'
    })
    assert.equal(bytesRead, 0)
  }
)

test('a unit of which the pack takes a part only is not in it', options, async (t) => {
  const { root, fill } = smallDisk(t, DISK_BYTES)
  const target = openFolderTarget(await scratchFolder(t))
  const packs = new PackWriter({ target, scratchFolder: root })
  fill(LEFT_BYTES)
  await packs.add(randomBytes(UNIT_BYTES))
  await assertFull(packs.add(randomBytes(UNIT_BYTES)))
  await packs.abort()
})

test('a mailbox that is restored in part only is not restored', options, async (t) => {
  const { root, fill } = smallDisk(t, DISK_BYTES)
  const target = openFolderTarget(await scratchFolder(t))
  const packs = new PackWriter({ target, scratchFolder: await scratchFolder(t) })
  const builder = new SnapshotBuilder()
  builder.startFile({ path: 'spool/a', size: 2 * UNIT_BYTES })
  for (let i = 0; i < 2; i++) {
    const bytes = randomBytes(UNIT_BYTES)
    builder.addUnit(sha256(bytes), await packs.add(bytes))
  }
  await packs.flush()
  const snapshot = builder.finish({ accountId: 'a', keyEpoch: 1, cipher: 'chacha20' })
  const folder = join(root, 'restored')
  await mkdir(join(folder, 'spool'), { recursive: true })
  fill(LEFT_BYTES)
  await assertFull(materialize({ target, snapshot, folder }))
})
