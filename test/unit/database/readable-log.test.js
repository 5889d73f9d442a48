import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPlainDatabase } from '../../../src/database/open.js'
import { requireReadableLog } from '../../../src/database/readable-log.js'
import { scratchFolder } from '../../helpers/account-folder.js'

test('a log that is not there, is empty or can be read is no trouble', async (t) => {
  const path = join(await scratchFolder(t), 'some.db')
  requireReadableLog(path)
  writeFileSync(`${path}-wal`, '')
  requireReadableLog(path)
  writeFileSync(`${path}-wal`, Buffer.alloc(3 * 1024 * 1024 + 7))
  requireReadableLog(path)
})

test('a database whose log cannot be read is not opened, and is as it was when it can be again', async (t) => {
  const path = join(await scratchFolder(t), 'some.db')
  const db = openPlainDatabase(path)
  db.exec('CREATE TABLE numbers (number); INSERT INTO numbers VALUES (1)')
  db.close()
  // Its reads fail, as those of a broken disk.
  mkdirSync(join(`${path}-wal`, 'not empty'), { recursive: true })
  assert.throws(() => requireReadableLog(path), { code: 'EISDIR' })
  assert.throws(() => openPlainDatabase(path))
  rmSync(`${path}-wal`, { recursive: true })
  const again = openPlainDatabase(path)
  t.after(() => again.close())
  assert.deepEqual(again.prepare('SELECT number FROM numbers').all(), [{ number: 1 }])
})

const hasStrace = spawnSync('strace', ['-V']).status === 0

/** In a process of its own: what it makes waits in the log when it is killed. */
const CHILD = `
  import { openEncryptedDatabase } from ${JSON.stringify(import.meta.resolve('../../../src/database/open.js'))}
  const [job, path] = process.argv.slice(1)
  try {
    const { db } = openEncryptedDatabase({ path, key: Buffer.alloc(32, 7), cipher: 'chacha20', isNew: job === 'make' })
    if (job === 'make') {
      db.exec('CREATE TABLE numbers (number)')
      for (let number = 1; number <= 100; number++) db.prepare('INSERT INTO numbers VALUES (?)').run(number)
      process.kill(process.pid, 'SIGKILL')
    }
    console.log(db.prepare('SELECT count(*) FROM numbers').pluck().get())
  } catch (error) {
    console.log(error.code)
  }`

/**
 * @param {string} job
 * @param {string} path
 * @param {readonly string[]} [wrapper]
 * @returns {string} what it says
 */
function child(job, path, wrapper = []) {
  const node = [process.execPath, '--input-type=module', '-e', CHILD, job, path]
  const [command = '', ...args] = [...wrapper, ...node]
  return spawnSync(command, args, { encoding: 'utf8' }).stdout.trim()
}

test(
  'one failed read of a log loses nothing of what was acknowledged',
  { skip: hasStrace ? false : 'needs strace' },
  async (t) => {
    const folder = await scratchFolder(t)
    const path = join(folder, 'mail.db')
    child('make', path)
    const failing = ['-e', 'inject=read,pread64:error=EIO:when=1', '-P', `${path}-wal`]
    const strace = ['strace', '-f', '-qq', '-o', join(folder, 'trace'), '-e', 'trace=read,pread64']
    assert.equal(child('read', path, [...strace, ...failing]), 'NOT_DURABLE')
    assert.equal(child('read', path), '100')
  }
)

test(
  'a log that another process removes just then is none',
  { skip: hasStrace ? false : 'needs strace' },
  async (t) => {
    const folder = await scratchFolder(t)
    const path = join(folder, 'mail.db')
    child('make', path)
    const gone = ['-e', 'inject=openat:error=ENOENT:when=1', '-P', `${path}-wal`]
    const strace = ['strace', '-f', '-qq', '-o', join(folder, 'trace'), '-e', 'trace=openat']
    assert.equal(child('read', path, [...strace, ...gone]), '100')
  }
)
