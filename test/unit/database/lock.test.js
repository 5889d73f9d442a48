import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { lockExclusive, lockShared, withExclusiveLock } from '../../../src/database/lock.js'
import { scratchFolder } from '../../helpers/account-folder.js'

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
})

test('a lock is waited for', async (t) => {
  const folder = await scratchFolder(t)
  const shared = await lockShared(folder, NOW)
  const waiting = lockExclusive(folder, { timeoutMs: 10_000 })
  setTimeout(() => shared.release(), 30)
  ;(await waiting).release()
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
