/**
 * Files that are written anew: whatever comes in between, the old one stays and nothing lies beside it.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { compactDatabase, rewriteDatabase } from '../../../src/database/rewrite.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { missing } from '../../helpers/programs.js'
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

/** Calls that make a copy at `next`, and which of the writes of its pages is lost, in the last pass over them. */
const COPIES = [
  { call: 'compactDatabase(path, { cipher, key })', module: 'rewrite.js', lost: 10 },
  {
    call: 'rewriteDatabase(path, { from: { cipher, key }, to: { key: nextKey } })',
    module: 'rewrite.js',
    lost: 10
  },
  {
    call: 'copyDatabase({ from: path, to: next, cipher, key, nextKey })',
    module: 'copy.js',
    lost: 40
  }
]

for (const { call, module, lost } of COPIES) {
  const name = call.slice(0, call.indexOf('('))
  test(
    `${name} does not make do with a copy of which a write was lost`,
    { skip: missing('strace') },
    async (t) => {
      const { path, key } = makeFile(await scratchFolder(t), 100_000)
      const next = `${path}.next`
      const { href } = new URL(`../../../src/database/${module}`, import.meta.url)
      const program = `
        import { ${name} } from ${JSON.stringify(href)}
        const [path, next, cipher] = ${JSON.stringify([path, next, CIPHER])}
        const [key, nextKey] = [Buffer.from(process.env.KEY, 'hex'), Buffer.alloc(32, 7)]
        try {
          await ${call}
        } catch ({ code }) {
          console.log(code)
        }`
      // The kernel says that it has written a page of the copy, and has not.
      const inject = ['-e', 'trace=pwrite64', '-e', `inject=pwrite64:retval=4096:when=${lost}`]
      const { stdout, stderr } = spawnSync(
        'strace',
        [
          ...['-f', '-qq', '-o', '/dev/null', '-P', next, ...inject],
          ...[process.execPath, '--input-type=module', '-e', program]
        ],
        { env: { ...process.env, KEY: key.toString('hex') }, encoding: 'utf8' }
      )
      assert.equal(stdout, 'ACCOUNT_DAMAGED\n', stderr)
      if (module === 'rewrite.js') requireAlone(path, key)
    }
  )
}

test('a rekey leaves a file as damaged as it was', async (t) => {
  const { path, key } = makeFile(await scratchFolder(t), 1000)
  const { db } = openEncryptedDatabase({ path, key, cipher: CIPHER })
  db.exec('INSERT INTO t VALUES (NULL)')
  db.unsafeMode()
  db.pragma('writable_schema = ON')
  db.exec(`UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a NOT NULL)' WHERE name = 't'`)
  db.close()
  const next = randomBytes(32)
  await rewriteDatabase(path, { from: { cipher: CIPHER, key }, to: { key: next } })
  const { db: rekeyed } = openEncryptedDatabase({ path, key: next, cipher: CIPHER })
  assert.match(String(rekeyed.pragma('quick_check(1)', { simple: true })), /^NULL value in t.a$/)
  assert.equal(rekeyed.prepare('SELECT count(*) FROM t').pluck().get(), 2)
  rekeyed.close()
})
