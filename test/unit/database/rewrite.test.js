/**
 * Files that are written anew: whatever comes in between, the old one stays and nothing lies beside it.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { compactDatabase, rewriteDatabase } from '../../../src/database/rewrite.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

const CIPHER = 'chacha20'
const MIB = 1024 * 1024

/**
 * @param {string} folder
 * @param {number} bytes - of what is in it
 */
function makeFile(folder, bytes) {
  const path = join(folder, 'mail.db')
  const key = randomBytes(32)
  const { db } = openEncryptedDatabase({ path, key, cipher: CIPHER, isNew: true })
  db.exec('CREATE TABLE t (a)')
  db.prepare('INSERT INTO t VALUES (?)').run(randomBytes(bytes))
  db.close()
  return { path, key }
}

/** @type {[string, (path: string, key: Buffer) => Promise<unknown>][]} */
const WAYS = [
  ['a compaction', (path, key) => compactDatabase(path, { cipher: CIPHER, key })],
  ['a rekey', (path, key) => rewriteDatabase(path, { from: { cipher: CIPHER, key }, to: { key } })]
]

/**
 * @param {string} path
 * @param {Buffer} key
 */
function requireAlone(path, key) {
  assert.deepEqual(readdirSync(dirname(path)), [basename(path)])
  const { db } = openEncryptedDatabase({ path, key, cipher: CIPHER })
  assert.equal(db.prepare('SELECT count(*) FROM t').pluck().get(), 1)
  db.close()
}

for (const [name, rewrite] of WAYS) {
  test(`${name} beside somebody who has the file open in spite of the lock is BUSY, and takes nothing away`, async (t) => {
    const { path, key } = makeFile(await scratchFolder(t), 1000)
    const { db } = openEncryptedDatabase({ path, key, cipher: CIPHER })
    db.prepare('UPDATE t SET a = a').run()
    await assert.rejects(rewrite(path, key), { code: 'BUSY' })
    assert.deepEqual(
      readdirSync(dirname(path)).filter((file) => file.includes('.next')),
      []
    )
    db.close()
    requireAlone(path, key)
    await rewrite(path, key)
    requireAlone(path, key)
  })

  test(`${name} takes the place of what a killed one left`, async (t) => {
    const { path, key } = makeFile(await scratchFolder(t), 1000)
    for (const suffix of ['', '-journal', '-wal']) writeFileSync(`${path}.next${suffix}`, 'half')
    await rewrite(path, key)
    requireAlone(path, key)
  })

  test(
    `${name} on a full disk is DISK_FULL, and leaves the file and nothing beside it`,
    { skip: smallDiskIsMissing },
    async (t) => {
      const { root, fill, clear } = smallDisk(t, 16 * MIB)
      const { path, key } = makeFile(root, 4 * MIB)
      fill(2 * MIB)
      await assert.rejects(rewrite(path, key), { code: 'DISK_FULL' })
      clear()
      requireAlone(path, key)
      await rewrite(path, key)
      requireAlone(path, key)
    }
  )
}
