import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import {
  ALLOCATOR,
  COMPILER_FLAGS,
  GROWTH_FLAG,
  NODE_FLAGS,
  SERVER_FLAGS,
  THREAD_POOL_SIZE
} from '../../config/runtime.js'
import { letterlock, MAIN, scratchFolder, startServerProcess } from '../helpers/process.js'

/**
 * @param {number} pid
 * @param {'cmdline' | 'environ'} file
 */
const stringsOf = (pid, file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')

test(
  'a server that is started plainly has the flags and the environment that it wants',
  { skip: process.platform === 'linux' ? false : 'they are read from /proc' },
  async (t) => {
    const server = await startServerProcess(t, {
      data: join(scratchFolder(t, 'runtime'), 'data'),
      wrapper: ['env']
    })
    const pid = Number(server.child.pid)
    const [, ...args] = stringsOf(pid, 'cmdline')
    assert.deepEqual(args.slice(0, SERVER_FLAGS.length), SERVER_FLAGS)
    const environment = stringsOf(pid, 'environ')
    const wanted = { ...ALLOCATOR, UV_THREADPOOL_SIZE: THREAD_POOL_SIZE }
    for (const [name, value] of Object.entries(wanted))
      assert.ok(environment.includes(`${name}=${value}`), name)
  }
)

test('V8 knows the flags that are set while a server runs: one that it does not know changes nothing', () => {
  const { stdout } = spawnSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  for (const flag of COMPILER_FLAGS) {
    const [name, value] = flag.split('=')
    const known = new RegExp(`^ +${name} .*\\n +type: u?int +default: ${name}=(\\d+)$`, 'm').exec(
      stdout
    )
    assert.ok(known, flag)
    assert.ok(Number(value) < Number(known[1]), `V8 does as much by itself: ${flag}`)
  }
  const [growth] = GROWTH_FLAG.split('=')
  assert.match(stdout, new RegExp(`^ +${growth} .*\\n +type: int +default: ${growth}=0$`, 'm'))
})

test('no flag of a start has V8 compile anew what it has in its code cache, as Node’s own modules', (t) => {
  const cache = join(scratchFolder(t, 'code-cache'), 'cache')
  const run = (/** @type {string[]} */ flags, /** @type {string} */ script) =>
    spawnSync(process.execPath, [...flags, '-p', script], { encoding: 'utf8' }).stdout.trim()
  const [file, source] = [JSON.stringify(cache), JSON.stringify('(() => 1)()')]
  run([], `fs.writeFileSync(${file}, new vm.Script(${source}).createCachedData())`)
  const take = `new vm.Script(${source}, { cachedData: fs.readFileSync(${file}) }).cachedDataRejected`
  assert.equal(run(SERVER_FLAGS, take), 'false')
  assert.equal(run([GROWTH_FLAG], take), 'true', 'one that counts is told')
})

test('a command that loads what PM2’s daemon does says all that it has to say, and ends with 0', () => {
  const output = new URL('../../scripts/cluster/daemon-output.js', import.meta.url)
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...NODE_FLAGS, `--import=${output}`, MAIN, '--version'],
    { encoding: 'utf8' }
  )
  assert.equal(stderr, '')
  assert.match(stdout, /^\d+\.\d+\.\d+\S*\n$/)
  assert.equal(status, 0)
})

const canHideProc =
  process.platform === 'linux' &&
  spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/proc']).status === 0

test(
  'without /proc it says so in one line',
  { skip: canHideProc ? false : 'only root may hide it' },
  async () => {
    const wrapper = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh']
    const { code, stderr } = await letterlock(['--version'], { wrapper })
    assert.equal(code, 1)
    assert.match(stderr, /^letterlock needs \/proc, .*\n$/)
  }
)

test('in a folder that has been removed it says so, and needs it for relative paths alone', async (t) => {
  const gone = join(scratchFolder(t, 'gone'), 'release')
  const wrapper = ['sh', '-c', `mkdir ${gone} && cd ${gone} && rmdir ${gone} && exec "$@"`, 'sh']
  const relative = await letterlock(['account', 'list', '--data', 'data'], { wrapper })
  assert.equal(relative.code, 1)
  assert.match(relative.stderr, /^letterlock: .*\n {2}data is relative to .*, which is gone: .*\n$/)
  const data = join(scratchFolder(t, 'absolute'), 'data')
  const { stderr } = await letterlock(['account', 'list', '--data', data], { wrapper })
  assert.match(stderr, /^letterlock: There is no Letterlock data in /)
})

test('a Node with capabilities, from which glibc takes the allocator’s variables, begins anew once and not for ever', async (t) => {
  const folder = scratchFolder(t, 'capabilities')
  const starts = join(folder, 'starts')
  const loader = join(folder, 'loader.mjs')
  // What the loader of glibc 2.39 does; after three times there is no end of it.
  writeFileSync(
    loader,
    `import { appendFileSync, statSync } from 'node:fs'
     for (const name of ${JSON.stringify(Object.keys(ALLOCATOR))}) delete process.env[name]
     appendFileSync(${JSON.stringify(starts)}, '.')
     if (statSync(${JSON.stringify(starts)}).size > 3) process.exit(99)`
  )
  const { code, stderr } = await letterlock(['--version'], {
    wrapper: ['env', `NODE_OPTIONS=--import=${pathToFileURL(loader)}`]
  })
  assert.equal(code, 0, stderr)
  assert.equal(readFileSync(starts, 'utf8'), '..')
})

test('a process ends although the file system does not answer it', (t) => {
  const path = join(scratchFolder(t, 'unanswered'), 'pipe')
  // To open one that nobody writes to takes for ever.
  assert.equal(spawnSync('mkfifo', [path]).status, 0)
  const module = new URL('../../src/cli/leave-unanswered.js', import.meta.url)
  const end = (/** @type {string} */ begun) =>
    spawnSync(process.execPath, [
      '--input-type=module',
      '-e',
      `import { leaveUnanswered } from '${module}'
       ${begun}
       await leaveUnanswered(3, 0)
       process.exit(4)`
    ]).status
  assert.equal(end(`process.getBuiltinModule('fs').open('${path}', () => {})`), 3)
  assert.equal(end(''), 4)
})
