/**
 * The account directory on a disk that is full: what it has committed is done, whatever becomes of its log.
 */
import assert from 'node:assert/strict'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDirectory } from '../../src/accounts/directory.js'
import { credential, newAccount } from '../helpers/directory-rows.js'
import { isOnDisk } from '../helpers/disk-search.js'
import { recordingLogger } from '../helpers/log-lines.js'
import { ManualClock } from '../helpers/manual-clock.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'

/** Room for some of the pages that wait in the log, and not for all. */
const LEFT_BYTES = 16 * 1024

/**
 * They fill more pages than there is room for (some 100 kB), in fewer frames than those after which
 * SQLite copies the log into the file by itself.
 */
const OTHERS = 40

/** @param {string} path */
const fileBytes = async (path) => (await stat(path)).size

/**
 * A directory on a small disk, with one account in it.
 *
 * @param {import('node:test').TestContext} t
 */
async function directoryOnSmallDisk(t) {
  const disk = smallDisk(t, 8 * 1024 * 1024)
  const data = join(disk.root, 'data')
  await mkdir(data)
  const path = join(data, 'directory.db')
  const { logger, lines } = recordingLogger()
  const clock = new ManualClock()
  const directory = openDirectory({ path, defaultDomain: 'example.org', clock, logger })
  const { id } = await directory.createAccount(newAccount(data, 'anna@example.org'))
  return { disk, data, path, lines, directory, id }
}

test(
  'a credential that was changed is changed, also where the log cannot be emptied for want of room',
  { skip: smallDiskIsMissing },
  async (t) => {
    const { disk, data, path, lines, directory, id } = await directoryOnSmallDisk(t)
    let others = 0
    const createAnother = async () =>
      await directory.createAccount(newAccount(data, `other${others++}@example.org`))
    // Once its log has been copied, it is written from its beginning again: there is room in it on a full disk.
    const emptyBytes = await fileBytes(path)
    while ((await fileBytes(path)) === emptyBytes) await createAnother()
    const copiedBytes = await fileBytes(path)
    for (let index = 0; index < OTHERS; index++) await createAnother()
    assert.equal(await fileBytes(path), copiedBytes, 'all of them wait in the log')
    const old = await directory.findSingleCredential(id, 'password')
    const next = credential(id, { id: String(old?.id), version: 2 })
    disk.fill(LEFT_BYTES)
    assert.equal(await directory.replaceCredentials([next], { version: 1 }), true)
    assert.ok(lines.some(({ msg }) => /log cannot be truncated/.test(String(msg))))
    assert.equal((await directory.findCredential(next.id))?.version, 2)
    directory.audit({ action: 'password-change', accountId: id })
    await directory.flush()
    disk.clear()
    await directory.flush()
    assert.equal(
      (await directory.pageAudit({ accountId: id, limit: 100 })).length,
      1,
      'written once'
    )
    assert.equal(isOnDisk(path, old?.wrappedKey ?? Buffer.of(0)), false)
    await directory.close()
  }
)

test(
  'what was done stays done where its audit event finds no room when the directory is closed: the log has it',
  { skip: smallDiskIsMissing },
  async (t) => {
    const { disk, lines, directory, id } = await directoryOnSmallDisk(t)
    directory.audit({ action: 'account-create', accountId: id })
    disk.fill(0)
    await directory.close()
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [['error', 'directory: what was still to be written is lost: audit events, last uses, usage']]
    )
  }
)

test(
  'while the disk is full the log is not filled as well: what waits is tried again, and then written',
  { skip: smallDiskIsMissing },
  async (t) => {
    const { disk, lines, directory, id } = await directoryOnSmallDisk(t)
    disk.fill(0)
    directory.audit({ action: 'login', accountId: id })
    while (lines.length === 0) await sleep(20)
    directory.audit({ action: 'login', accountId: id })
    await sleep(1500)
    assert.equal(lines.length, 1)
    disk.clear()
    while ((await directory.pageAudit({ accountId: id, limit: 100 })).length < 2) await sleep(20)
    assert.equal(lines.length, 1)
    await directory.close()
  }
)
