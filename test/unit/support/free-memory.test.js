import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { test } from 'node:test'
import { fileCacheOf, freeMemory } from '../../../src/support/free-memory.js'

test('what a group has read and written of files may be taken, what lies in shared memory may not', () => {
  const lines = ['anon 5000', 'file 9000', 'shmem 2000', 'inactive_anon 5000', 'active_anon 2000']
  assert.equal(
    fileCacheOf([...lines, 'inactive_file 6000', 'active_file 1000', ''].join('\n')),
    7000
  )
})

test('of groups below, version 1 has sums', () => {
  const own = ['cache 0', 'inactive_file 0', 'active_file 0']
  const sums = ['total_cache 9000', 'total_inactive_file 8000', 'total_active_file 500']
  assert.equal(fileCacheOf([...own, ...sums].join('\n')), 8500)
})

test('a memory.stat without such figures has no cache', () => {
  assert.equal(fileCacheOf(''), 0)
})

test('there is no more memory than the machine has', () => {
  const bytes = freeMemory()
  assert.ok(bytes > 0 && bytes <= totalmem(), String(bytes))
})
