import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  isOpenElsewhere,
  lockExclusive,
  lockShared,
  withExclusiveLock
} from '../../../src/database/lock.js'
import { MailError } from '../../../src/errors.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { openDescriptors } from '../../helpers/open-descriptors.js'

const NOW = { timeoutMs: 0 }

test('openers share the lock; work on the whole file needs them all gone', async (t) => {
  const folder = await scratchFolder(t)
  const first = await lockShared(folder, NOW)
  const second = await lockShared(folder, NOW)
  await assert.rejects(lockExclusive(folder, NOW), { code: 'BUSY' })
  first.release()
  await assert.rejects(lockExclusive(folder, NOW), { code: 'BUSY' })
  // A refused exclusive try leaves nothing behind that would stand in an opener's way.
  const third = await lockShared(folder, NOW)
  second.release()
  third.release()
  const alone = await lockExclusive(folder, NOW)
  await assert.rejects(lockShared(folder, NOW), { code: 'BUSY' })
  alone.release()
  alone.release()
  ;(await lockShared(folder, NOW)).release()
  // SQLite keeps those of refused tries until the last lock of the process on the file is gone.
  assert.ok(!openDescriptors().includes(join(folder, 'mail.lock')), 'nothing is left open')
})

test('an open mailbox is told from other work that is in the way', async (t) => {
  const folder = await scratchFolder(t)
  const shared = await lockShared(folder, NOW)
  await assert.rejects(lockExclusive(folder, NOW), isOpenElsewhere)
  shared.release()
  const underWay = new MailError('BUSY', { detail: 'a restore is under way' })
  const failing = withExclusiveLock(folder, NOW, () => {
    throw underWay
  })
  await assert.rejects(failing, (error) => !isOpenElsewhere(error))
})

test('a lock is waited for', async (t) => {
  const folder = await scratchFolder(t)
  const shared = await lockShared(folder, NOW)
  const waiting = lockExclusive(folder, { timeoutMs: 10_000 })
  let isFree = false
  setTimeout(() => {
    isFree = true
    shared.release()
  }, 30)
  const lock = await waiting
  lock.release()
  assert.ok(isFree)
})

test('the exclusive lock is given up when the work fails, and the file stays empty', async (t) => {
  const folder = await scratchFolder(t)
  const failing = withExclusiveLock(folder, NOW, () => {
    throw new Error('no')
  })
  await assert.rejects(failing, /no/)
  ;(await lockShared(folder, NOW)).release()
  assert.equal(statSync(join(folder, 'mail.lock')).size, 0)
})

test('a lock of another process counts, and ends with that process', async (t) => {
  const folder = await scratchFolder(t)
  const module = new URL('../../../src/database/lock.js', import.meta.url).href
  const script = `
    const { lockShared } = await import(${JSON.stringify(module)})
    await lockShared(${JSON.stringify(folder)}, { timeoutMs: 0 })
    console.log('locked')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await assert.rejects(lockExclusive(folder, NOW), { code: 'BUSY' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  ;(await lockExclusive(folder, { timeoutMs: 5000 })).release()
})

test('a damaged file locks nobody out, and lets nobody in who would be kept out', async (t) => {
  const folder = await scratchFolder(t)
  const file = join(folder, 'mail.lock')
  for (const mode of [lockShared, lockExclusive]) {
    writeFileSync(file, 'x'.repeat(4096))
    const lock = await mode(folder, NOW)
    assert.equal(statSync(file).size, 0)
    await assert.rejects(lockExclusive(folder, NOW), { code: 'BUSY' })
    lock.release()
  }
})

test('where the file is damaged while it is locked, the lock holds', async (t) => {
  const folder = await scratchFolder(t)
  const first = await lockShared(folder, NOW)
  // Written here, it would be closed here.
  execFileSync('sh', ['-c', 'echo not a database > mail.lock'], { cwd: folder })
  ;(await lockShared(folder, NOW)).release()
  const module = new URL('../../../src/database/lock.js', import.meta.url)
  const program = `
    import { lockExclusive } from '${module}'
    await lockExclusive(process.argv[1], { timeoutMs: 0 }).catch(({ code }) => console.log(code))`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', program, folder])
  assert.equal(said.toString(), 'BUSY\n')
  first.release()
  ;(await lockExclusive(folder, NOW)).release()
})
