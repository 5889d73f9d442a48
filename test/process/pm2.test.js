import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { lockAlone } from '../../src/database/lock.js'
import { ENVIRONMENT, scratchFolder } from '../helpers/process.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'

const SCRIPT = fileURLToPath(new URL('../../scripts/cluster.js', import.meta.url))

const ON_LINUX = {
  skip: process.platform === 'linux' ? false : 'processes are listed on Linux alone'
}

/**
 * @param {string} data
 * @returns {number[]} ids of the workers that serve from there, whether PM2 knows them or not
 */
function workersOf(data) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
        // Node gives the second variable to workers of a cluster alone.
        const isOurs = variables.includes(`PM2_HOME=${data}/pm2`)
        return isOurs && variables.some((variable) => variable.startsWith('NODE_UNIQUE_ID='))
      } catch {
        // It has ended, or is nobody's of this user.
        return false
      }
    })
    .map(Number)
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} [folder]
 * @returns {{ folder: string, data: string, environment: NodeJS.ProcessEnv, run: (command: string, changed?: NodeJS.ProcessEnv, node?: string) => Promise<{ stdout: string }> }} `run`
 *   rejects where the command fails; one worker on free ports unless `changed` says otherwise
 */
function setUp(t, folder = scratchFolder(t, 'pm2')) {
  const data = join(folder, 'data')
  const listen = Object.fromEntries(
    ['IMAP', 'IMAPS', 'LMTP', 'ADMIN'].map((name) => [`LETTERLOCK_${name}_LISTEN`, '127.0.0.1:0'])
  )
  const settings = { LETTERLOCK_DATA: data, LETTERLOCK_CLUSTER_WORKERS: '1' }
  const environment = { ...ENVIRONMENT, ...listen, ...settings }
  const run = (/** @type {string} */ command, changed = {}, node = process.execPath) =>
    promisify(execFile)(node, [SCRIPT, ...command.split(' ')], {
      env: { ...environment, ...changed }
    })
  return { folder, data, environment, run }
}

/** @param {import('node:test').TestContext} t */
async function takePort(t) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `127.0.0.1:${port}`
}

/**
 * @param {Promise<unknown>} command
 * @param {RegExp} pattern - of what it says
 */
const assertFails = (command, pattern) =>
  assert.rejects(command, (/** @type {any} */ error) => {
    assert.equal(error.code, 1)
    assert.match(error.stderr, pattern)
    return true
  })

test(
  'a reload just after a worker has died leaves one worker in its place, and a stop none',
  ON_LINUX,
  async (t) => {
    const { data, run } = setUp(t)
    try {
      await run('start')
      const [worker, ...others] = workersOf(data)
      assert.ok(worker)
      assert.deepEqual(others, [])
      process.kill(worker, 'SIGKILL')
      await run('reload')
      const after = workersOf(data)
      assert.equal(after.length, 1)
      assert.ok(!after.includes(worker))
    } finally {
      // Settings that have become wrong since keep nobody from stopping it.
      await run('stop', { LETTERLOCK_IMAP_LISTEN: 'nowhere' })
    }
    assert.deepEqual(workersOf(data), [])
  }
)

test(
  'an old worker goes when the new one is ready and not before, and the new one has the variables of the reload alone',
  ON_LINUX,
  async (t) => {
    const { folder, data, run } = setUp(t)
    // A system's own Node that is older than this program's.
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'node'), '#!/bin/sh\nexit 9\n', { mode: 0o755 })
    const PATH = `${bin}:${process.env['PATH']}`
    const log = join(data, 'pm2', 'logs', 'letterlock-out.log')
    try {
      await run('start', { PATH, LETTERLOCK_USER_PAGE_LISTEN: '127.0.0.1:0' })
      const before = workersOf(data)
      assert.equal(before.length, 1)
      assert.match(readFileSync(log, 'utf8'), /^userPage /m)

      const missing = join(folder, 'nowhere.pem')
      await assertFails(
        run('reload', { PATH, LETTERLOCK_TLS_CERTIFICATE: missing, LETTERLOCK_TLS_KEY: missing }),
        /^letterlock: The configuration is not valid\n {2}.*nowhere\.pem/
      )
      assert.deepEqual(workersOf(data), before)

      await assertFails(
        run('reload', { PATH, LETTERLOCK_IMAP_LISTEN: await takePort(t) }),
        /^letterlock: The new worker 0 is not ready.*letterlock-error\.log\n$/
      )
      assert.deepEqual(workersOf(data), before)

      const place = await takePort(t)
      await assertFails(
        run('reload', { PATH, LETTERLOCK_IMAPS_LISTEN: place, LETTERLOCK_USER_PAGE_LISTEN: place }),
        /^letterlock: The configuration is not valid\n {2}imaps\.listen .* and userPage\.listen /
      )
      const [list = ''] = /^\[.*\]$/m.exec((await run('jlist', { PATH })).stdout) ?? []
      assert.equal(JSON.parse(list).length, 2, 'the worker, and the nightly backup')
      process.kill(Number(before[0]), 'SIGKILL')
      while (readFileSync(log, 'utf8').match(/^ready$/gm)?.length !== 2) await sleep(100)
      const again = workersOf(data)
      const said = readFileSync(log, 'utf8')

      await run('reload', { PATH, LETTERLOCK_DISCOVERY_LISTEN: '127.0.0.1:0' })
      const after = workersOf(data)
      assert.equal(after.length, 1)
      assert.notDeepEqual(after, again)
      const saidSince = readFileSync(log, 'utf8').slice(said.length)
      assert.match(saidSince, /^discovery /m)
      assert.doesNotMatch(saidSince, /^userPage /m)
    } finally {
      await run('stop', { PATH })
    }
  }
)

test('a start beside one that has not ended yet begins nothing', ON_LINUX, async (t) => {
  const { data, run } = setUp(t)
  const home = join(data, 'pm2')
  mkdirSync(home, { recursive: true })
  const lock = await lockAlone(home, 'cluster.lock')
  t.after(() => lock.release())
  const isRefused = /^letterlock: Another start or reload has not ended yet\n$/
  for (const command of ['start', 'reload']) await assertFails(run(command), isRefused)
  assert.ok(!existsSync(join(home, 'pm2.pid')))
})

test('a folder of PM2’s that cannot be made is named', ON_LINUX, async (t) => {
  const { run } = setUp(t)
  const isNamed = /The folder \/proc\/pm2 cannot be made \(ENOENT\)/
  await assert.rejects(run('list', { PM2_HOME: '/proc/pm2' }), isNamed)
})

test('a start whose workers cannot begin fails, and leaves none of them', ON_LINUX, async (t) => {
  const { data, run } = setUp(t)
  try {
    await assertFails(
      run('start', { LETTERLOCK_IMAP_LISTEN: await takePort(t) }),
      /^letterlock: The workers do not start: see .*letterlock-error\.log\n$/
    )
    assert.deepEqual(workersOf(data), [])
    assert.ok(!existsSync(join(data, 'pm2', 'pm2.pid')))
  } finally {
    await run('stop')
  }
  await assertFails(
    run('start', { LETTERLOCK_IMAP_LISTEN: 'nowhere' }),
    /^letterlock: The configuration is not valid\n {2}environment: imap\.listen must be/
  )
})

test(
  'a start whose workers cannot begin leaves the nightly backup as it was, and so does a stop of the workers alone',
  ON_LINUX,
  async (t) => {
    const { data, run } = setUp(t)
    const running = async () => {
      const [list = '[]'] = /^\[.*\]$/m.exec((await run('jlist')).stdout) ?? []
      return JSON.parse(list)
        .filter((/** @type {any} */ { pm2_env: { status } }) => status === 'online')
        .map((/** @type {any} */ { name, pid }) => `${name} ${pid}`)
    }
    try {
      await run('start')
      const backup = (await running()).filter((/** @type {string} */ app) => /backup/.test(app))
      assert.equal(backup.length, 1)
      await run('stop letterlock')
      assert.deepEqual(workersOf(data), [])
      assert.deepEqual(await running(), backup)
      await assertFails(
        run('start', { LETTERLOCK_IMAP_LISTEN: await takePort(t) }),
        /^letterlock: The workers do not start: see .*letterlock-error\.log\n/
      )
      assert.deepEqual(workersOf(data), [])
      assert.deepEqual(await running(), backup)
      await run('start')
      assert.equal(workersOf(data).length, 1)
    } finally {
      await run('stop')
    }
  }
)

test(
  'a reload says that the daemon runs on the Node of another version, and replaces nothing once that is gone',
  ON_LINUX,
  async (t) => {
    const { folder, data, run } = setUp(t)
    const node = join(folder, 'node-before')
    copyFileSync(process.execPath, node)
    try {
      await run('start', {}, node)
      const { stdout } = await run('reload')
      assert.match(stdout, new RegExp(`^PM2’s daemon, and so each worker, runs on ${node} until`))
      const before = workersOf(data)
      assert.equal(before.length, 1)

      rmSync(node)
      await assertFails(
        run('reload'),
        /^letterlock: PM2’s daemon runs on .*node-before, which is gone/
      )
      assert.deepEqual(workersOf(data), before)

      await run('stop')
      assert.doesNotMatch((await run('start')).stdout, /daemon/)
    } finally {
      await run('stop')
    }
  }
)

test(
  'a worker that dies while the disk is full is started again once there is room, and takes nobody with it',
  { skip: ON_LINUX.skip || smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 64 * 1024 * 1024)
    const { data, run } = setUp(t, disk.root)
    try {
      await run('start', { LETTERLOCK_CLUSTER_WORKERS: '2' })
      const [worker, other] = workersOf(data)
      assert.ok(worker && other)
      // The next line of the daemon begins a page that is not to be had.
      const log = join(data, 'pm2', 'pm2.log')
      const PAGE = 4096
      appendFileSync(log, '\n'.repeat(PAGE - (statSync(log).size % PAGE)))
      disk.fill(0)
      process.kill(worker, 'SIGKILL')
      // The first attempts fail: a worker cannot write even its number.
      await sleep(2000)
      assert.ok(workersOf(data).includes(other))

      disk.clear()
      while (workersOf(data).length < 2) await sleep(50)
      assert.ok(workersOf(data).includes(other))
    } finally {
      disk.clear()
      await run('stop')
    }
  }
)

test('a reload goes on to its end where nobody reads what it says', ON_LINUX, async (t) => {
  const { data, run, environment } = setUp(t)
  try {
    await run('start', { LETTERLOCK_CLUSTER_WORKERS: '2' })
    const before = workersOf(data)
    const env = { ...environment, LETTERLOCK_CLUSTER_WORKERS: '2' }
    const reload = spawn(process.execPath, [SCRIPT, 'reload'], { env })
    reload.stdout.destroy()
    const [code] = await once(reload, 'exit')
    assert.equal(code, 0)
    const after = workersOf(data)
    assert.equal(after.length, 2)
    assert.deepEqual(
      after.filter((pid) => before.includes(pid)),
      []
    )

    await run('reload')
    assert.equal(workersOf(data).length, 1, 'as many as are set by now')
    assert.match((await run('start jlist')).stdout, /^\[.*\]$/m)
    assert.equal(statSync(data).mode & 0o077, 0)
    // Its sockets are for the group too, as far as PM2 has a say.
    for (const entry of readdirSync(join(data, 'pm2'), { recursive: true, withFileTypes: true }))
      if (!entry.isSocket())
        assert.equal(statSync(join(entry.parentPath, entry.name)).mode & 0o077, 0, entry.name)
  } finally {
    await run('stop')
  }
})
