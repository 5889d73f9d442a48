import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ALLOCATOR, SERVER_FLAGS, THREAD_POOL_SIZE } from '../../config/runtime.js'
import { scratchFolder, startServerProcess } from '../helpers/process.js'

/**
 * @param {number} pid
 * @param {'cmdline' | 'environ'} file
 */
const stringsOf = (pid, file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')

test(
  'a server that is started plainly has the flags and the environment that it wants',
  { skip: process.platform === 'linux' ? false : 'they are read from /proc' },
  async (t) => {
    const server = await startServerProcess(t, { data: join(scratchFolder(t, 'runtime'), 'data') })
    const pid = Number(server.child.pid)
    const [, ...args] = stringsOf(pid, 'cmdline')
    assert.deepEqual(args.slice(0, SERVER_FLAGS.length), SERVER_FLAGS)
    const environment = stringsOf(pid, 'environ')
    const wanted = { ...ALLOCATOR, UV_THREADPOOL_SIZE: THREAD_POOL_SIZE }
    for (const [name, value] of Object.entries(wanted))
      assert.ok(environment.includes(`${name}=${value}`), name)
  }
)
