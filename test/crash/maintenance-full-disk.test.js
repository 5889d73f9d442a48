/**
 * A disk that is full while a mailbox is looked after: a clear error, nothing is lost, and it goes on by itself once
 * there is room.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAccountStore } from '../../src/store/account-store.js'
import { runFileJob } from '../../src/store/file-work.js'
import { systemClock } from '../../src/support/clock.js'
import { appendOne, readBytes, sweepAll } from '../helpers/account-folder.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'

const KEY = Buffer.alloc(32, 7)
const DISK_BYTES = 48 * 1024 * 1024

test(
  'VACUUM and compaction on a full disk fail clearly, and later succeed',
  { skip: smallDiskIsMissing },
  async (t) => {
    const { root, fill, clear } = smallDisk(t, DISK_BYTES)
    const folder = join(root, 'account')
    /** @type {string[]} */
    const alerts = []
    const store = await createAccountStore({
      folder,
      key: KEY,
      clock: systemClock,
      onAlert: ({ code }) => alerts.push(code)
    })
    const head = Buffer.from('Content-Type: application/octet-stream\r\n\r\n')
    for (let i = 0; i < 40; i++) {
      const flags = i % 3 === 0 ? ['\\Deleted'] : []
      await appendOne(store, 'INBOX', Buffer.concat([head, randomBytes(300_000)]), flags)
    }
    const { view } = await store.openView('INBOX')
    await store.expunge({ view, uids: null })
    await sweepAll(store)
    await store.checkpoint()
    const before = await readBytes(store, view, 2)

    fill(2_000_000)
    await assert.rejects(store.upkeep.vacuum(), { code: 'DISK_FULL' })
    assert.deepEqual(alerts, ['DISK_FULL'])
    assert.equal(store.hasFailed, false)
    assert.deepEqual(await readBytes(store, view, 2), before)

    clear()
    while (!(await store.upkeep.vacuum()).isDone);
    await store.checkpoint()
    assert.deepEqual((await store.verify()).problems, [])
    await store.close()

    fill(2_000_000)
    const job = /** @type {const} */ ({
      kind: 'compact',
      folder,
      cipher: 'chacha20',
      timeoutMs: 1000
    })
    await assert.rejects(runFileJob(job, { key: KEY }), { code: 'DISK_FULL' })
    clear()
    await runFileJob(job, { key: KEY })
  }
)
