/**
 * Processes that can be killed in the middle of a statement.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ChildPool } from '../../../src/database/child.js'
import { scratchFolder } from '../../helpers/account-folder.js'

const MODULE = new URL('../../helpers/child-module.js', import.meta.url)
const HOST = fileURLToPath(new URL('../../../src/database/child-host.js', import.meta.url))

/** @param {import('node:test').TestContext} t */
function setUp(t) {
  const pool = new ChildPool()
  t.after(() => pool.close())
  const key = new SharedArrayBuffer(32)
  new Uint8Array(key).set(randomBytes(32))
  /** @type {number[]} */
  const pids = []
  const run = (/** @type {object} */ data, options = {}) =>
    pool.run(MODULE, { data, key, onStart: (pid) => pids.push(pid), ...options })
  return { pool, key, pids, run }
}

test('a job has its data and its key, and gives its value; the next one finds the process there', async (t) => {
  const { key, pids, run } = setUp(t)
  const expected = Buffer.from(new Uint8Array(key)).toString('hex')
  assert.deepEqual(await run({ kind: 'echo', value: 'Zürich' }), { value: 'Zürich', key: expected })
  const large = 'x'.repeat(300_000)
  assert.deepEqual(await run({ kind: 'echo', value: large }), { value: large, key: expected })
  assert.equal(pids.length, 2)
  assert.equal(pids[0], pids[1])
})

test('jobs at the same time have a process each', async (t) => {
  const { pids, run } = setUp(t)
  await Promise.all([run({ kind: 'echo', value: 1 }), run({ kind: 'echo', value: 2 })])
  assert.equal(new Set(pids).size, 2)
})

test('the key is neither among the arguments nor in the environment', async (t) => {
  const { key, run } = setUp(t)
  let seen = Buffer.alloc(0)
  await run(
    { kind: 'echo', value: '' },
    {
      onStart: (/** @type {number} */ pid) => {
        seen = Buffer.concat(
          ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`))
        )
      }
    }
  )
  const secret = Buffer.from(new Uint8Array(key))
  assert.ok(seen.includes('child-host.js'))
  for (const encoding of /** @type {const} */ (['latin1', 'hex', 'base64']))
    assert.equal(seen.includes(secret.toString(encoding), 0, 'latin1'), false, encoding)
})

test('its errors come with their codes, a fault of the program with its stack', async (t) => {
  const { run } = setUp(t)
  await assert.rejects(run({ kind: 'fail' }), { code: 'DISK_FULL', detail: 'so it is' })
  await assert.rejects(run({ kind: 'break' }), /broken on purpose/)
  assert.ok(await run({ kind: 'echo', value: 1 }))
})

test('a signal kills it in the middle of its work, and the next job gets another', async (t) => {
  const { pids, run } = setUp(t)
  const stop = new AbortController()
  const running = run(
    { kind: 'hang' },
    {
      signal: stop.signal,
      onStart: (/** @type {number} */ pid) => {
        pids.push(pid)
        setTimeout(() => stop.abort(), 50)
      }
    }
  )
  await assert.rejects(running, { code: 'SHUTTING_DOWN' })
  await run({ kind: 'echo', value: 1 })
  assert.notEqual(pids[0], pids[1])
  await assert.rejects(run({ kind: 'echo' }, { signal: AbortSignal.abort() }), {
    code: 'SHUTTING_DOWN'
  })
})

test('one that is killed when its job is done already, but nobody has heard of that, gets no further job', async (t) => {
  const { pids, run } = setUp(t)
  await run({ kind: 'echo', value: 1 })
  const stop = new AbortController()
  const first = run({ kind: 'echo', value: 2 }, { signal: stop.signal })
  await turn()
  // The event loop stands still: the value waits in the port.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  stop.abort()
  await first.catch((error) => assert.equal(error.code, 'SHUTTING_DOWN'))
  await run({ kind: 'echo', value: 3 })
  assert.equal(pids[0], pids[1])
  assert.notEqual(pids[1], pids[2])
})

test('killed by somebody else it answers BUSY', async (t) => {
  const { run } = setUp(t)
  await assert.rejects(
    run(
      { kind: 'hang' },
      { onStart: (/** @type {number} */ pid) => setTimeout(() => process.kill(pid, 'SIGKILL'), 50) }
    ),
    { code: 'BUSY' }
  )
})

test('after its close a pool starts nothing, and its processes are gone', async (t) => {
  const { pool, pids, run } = setUp(t)
  await run({ kind: 'echo', value: 1 })
  pool.close()
  await assert.rejects(run({ kind: 'echo', value: 1 }), { code: 'SHUTTING_DOWN' })
  const isThere = () => {
    try {
      return process.kill(Number(pids[0]), 0)
    } catch {
      return false
    }
  }
  while (isThere()) await new Promise((resolve) => setTimeout(resolve, 20))
})

test('it ends with its parent in the middle of its work, whichever of its pipes tells it first', async (t) => {
  for (const pipe of ['input', 'channel']) {
    const sign = join(await scratchFolder(t), 'at-work')
    const host = spawn(process.execPath, [HOST], { stdio: ['pipe', 'ignore', 'inherit', 'ipc'] })
    t.after(() => host.kill('SIGKILL'))
    const job = { module: MODULE.href, data: { kind: 'hang', value: sign }, writtenFile: '' }
    const facts = Buffer.from(JSON.stringify(job))
    const head = Buffer.alloc(4 + 32)
    head.writeUInt32BE(facts.length)
    host.stdin?.write(Buffer.concat([head, facts]))
    while (!existsSync(sign)) await sleep(20)
    if (pipe === 'input') host.stdin?.end()
    else host.disconnect()
    const [, signal] = await once(host, 'exit')
    assert.equal(signal, 'SIGKILL', pipe)
  }
})
