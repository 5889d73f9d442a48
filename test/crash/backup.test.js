/**
 * kill -9 of backups and restores, and backups under load. A few rounds here, hundreds with `npm run torture`.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { NODE_FLAGS } from '../../config/runtime.js'
import {
  MAIN,
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { missing } from '../helpers/programs.js'
import { WireClient } from '../helpers/wire-client.js'

const TORTURE = process.env['LETTERLOCK_TEST_TORTURE'] !== undefined

/** Kills of a backup, and of a restore. */
const ROUNDS = TORTURE ? 200 : 10

/** Kills of a restore of a host, each onto an empty folder. */
const HOST_ROUNDS = TORTURE ? 50 : 3

const USER = 'user@example.org'

/**
 * @param {string} id
 * @param {number} padding - bytes
 */
const message = (id, padding) =>
  Buffer.from(
    `Message-ID: <${id}@crash>\r\nSubject: ${id}\r\n\r\n`.padEnd(padding, `line of ${id}\r\n`)
  )

/**
 * A host whose mailbox is backed up once, and then has grown.
 *
 * @param {import('node:test').TestContext} t
 * @param {number} messages
 */
async function host(t, messages) {
  const root = scratchFolder(t, 'backup-crash')
  const data = join(root, 'data')
  const environment = { LETTERLOCK_BACKUP_FOLDER: join(root, 'target') }
  await createAccounts(data, [USER])
  const backup = (/** @type {string[]} */ args, input = '') =>
    letterlock(['backup', ...args], { input, environment })
  const recoveryKey = /AGE\S+/.exec((await backup(['init', '--data', data])).stdout)?.[0] ?? ''
  const server = await startServerProcess(t, { data })
  const client = await WireClient.connect(server.ports.imap)
  await client.login(USER)
  for (let i = 0; i < messages; i++)
    await client.command('APPEND INBOX', message(`first-${i}`, 300_000))
  client.destroy()
  return { root, data, environment, backup, recoveryKey, server }
}

/**
 * Starts a command and kills it after a random part of the time that it takes.
 *
 * @param {string[]} args
 * @param {{ environment: Record<string, string>, input?: string, withinMs: number }} options
 */
async function killed(args, { environment, input = '', withinMs }) {
  // With these it does not start itself anew: the process that is killed is the one that works.
  const child = spawn(process.execPath, [...NODE_FLAGS, MAIN, 'backup', ...args], {
    env: {
      ...process.env,
      ...environment,
      LETTERLOCK_AUTH_ARGON2_MEMORY_KIB: String(19 * 1024)
    },
    stdio: ['pipe', 'ignore', 'ignore']
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const closed = once(child, 'close')
  await sleep(Math.random() * withinMs)
  child.kill('SIGKILL')
  await closed
}

/**
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>} ms
 */
async function timed(work) {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

test('backups under write load: every restore opens, and has all that was acknowledged before, byte for byte', async (t) => {
  const { root, data, environment, backup, recoveryKey, server } = await host(t, 3)
  const client = await WireClient.connect(server.ports.imap)
  await client.login(USER)
  /** @type {number[]} UIDs by number, 0 while not acknowledged */
  const uids = []
  const stop = new AbortController()
  const load = (async () => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const answer = await client.command(
        'APPEND INBOX',
        message(`load-${i}`, i % 5 === 4 ? 400_000 : 2000)
      )
      uids[i] = Number(/APPENDUID \d+ (\d+)/.exec(answer)?.[1])
    }
  })()
  /** @type {number[]} */
  const acknowledged = []
  for (let round = 0; round < (TORTURE ? 50 : 2); round++) {
    acknowledged.push(uids.length)
    const { code, stderr } = await backup(['run', '--data', data])
    assert.equal(code, 0, stderr)
  }
  stop.abort()
  await load
  client.destroy()
  await server.stop()

  const { stdout } = await backup(['list', '--json', '--data', data])
  const names = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).name)
  assert.equal(names.length, acknowledged.length)
  for (const [round, name] of names.entries()) {
    const folder = join(root, `restored-${round}`)
    const args = ['restore', '--host', '--generation', name, '--password-stdin', '--data', folder]
    const restored = await backup(args, `${recoveryKey}\n`)
    assert.equal(restored.code, 0, restored.stderr)
    const check = await letterlock(['check', USER, '--password-stdin', '--data', folder], {
      input: 'pass\n',
      environment
    })
    assert.equal(check.code, 0, check.stdout + check.stderr)
    const again = await startServerProcess(t, { data: folder })
    const reader = await WireClient.connect(again.ports.imap)
    await reader.login(USER)
    await reader.command('SELECT INBOX')
    for (let i = 0; i < (acknowledged[round] ?? 0); i++) {
      const expected = message(`load-${i}`, i % 5 === 4 ? 400_000 : 2000).toString('latin1')
      assert.ok((await reader.command(`UID FETCH ${uids[i]} (BODY.PEEK[])`)).includes(expected))
    }
    reader.destroy()
    await again.kill()
    rmSync(folder, { recursive: true })
  }
})

test(`a backup that is killed anywhere, ${ROUNDS} times, leaves the one before whole, and the next is good`, async (t) => {
  const { data, environment, backup, server } = await host(t, 20)
  const run = () => backup(['run', '--data', data])
  const takesMs = await timed(run)
  const client = await WireClient.connect(server.ports.imap)
  await client.login(USER)
  for (let round = 0; round < ROUNDS; round++) {
    await client.command('APPEND INBOX', message(`round-${round}`, 900_000))
    await killed(['run', '--data', data], { environment, withinMs: takesMs * 1.2 })
    // What was frozen is free: the mailbox takes mail, and gives it back.
    assert.match(await client.command('APPEND INBOX', message(`after-${round}`, 1000)), /OK/)
    const verified = await backup(['verify', '--all', '--data', data])
    assert.equal(verified.code, 0, verified.stderr)
    const next = await run()
    assert.equal(next.code, 0, next.stderr)
  }
  client.destroy()
  const pruned = await backup(['prune', '--data', data])
  assert.equal(pruned.code, 0, pruned.stderr)
  assert.equal((await backup(['verify', '--all', '--data', data])).code, 0)
  assert.deepEqual(
    readdirSync(join(data, 'tmp')).filter((name) => name.startsWith('backup-')),
    []
  )
})

test(`a restore that is killed anywhere, ${ROUNDS} times, leaves the mailbox as it is or as it was, whole either way`, async (t) => {
  const { data, environment, backup, server } = await host(t, 10)
  assert.equal((await backup(['run', '--data', data])).code, 0)
  const args = ['restore', USER, '--yes', '--data', data]
  const count = async () => {
    const client = await WireClient.connect(server.ports.imap)
    await client.login(USER)
    const answer = await client.command('STATUS INBOX (MESSAGES)')
    client.destroy()
    return Number(/MESSAGES (\d+)/.exec(answer)?.[1])
  }
  const append = async () => {
    const client = await WireClient.connect(server.ports.imap)
    await client.login(USER)
    await client.command('APPEND INBOX', message('later', 1000))
    client.destroy()
  }
  const takesMs = await timed(() => backup(args))
  assert.equal(await count(), 10)
  for (let round = 0; round < ROUNDS; round++) {
    await append()
    const before = await count()
    await killed(args, { environment, withinMs: takesMs * 1.2 })
    assert.ok([10, before].includes(await count()))
    const { code, stdout, stderr } = await letterlock(
      ['check', USER, '--password-stdin', '--data', data],
      { input: 'pass\n' }
    )
    assert.equal(code, 0, stdout + stderr)
  }
  assert.equal((await backup(args)).code, 0)
  assert.equal(await count(), 10)
})

test(`a restore of a host that is killed, ${HOST_ROUNDS} times, goes on where it was`, async (t) => {
  const { root, data, environment, backup, recoveryKey, server } = await host(t, 15)
  assert.equal((await backup(['run', '--data', data])).code, 0)
  await server.stop()
  for (let round = 0; round < HOST_ROUNDS; round++) {
    const folder = join(root, `new-${round}`)
    const args = ['restore', '--host', '--password-stdin', '--data', folder]
    const input = `${recoveryKey}\n`
    await killed(args, { environment, input, withinMs: 1500 })
    // The directory takes its place last of all, and then the mark goes.
    const isThere = (/** @type {string} */ name) => existsSync(join(folder, name))
    if (!isThere('directory.db') || isThere('restoring.json')) {
      const again = await backup(args, input)
      assert.equal(again.code, 0, again.stderr)
    }
    const { code, stdout } = await letterlock(
      ['check', USER, '--password-stdin', '--data', folder],
      { input: 'pass\n' }
    )
    assert.equal(code, 0)
    assert.match(stdout, /^15 messages/)
    assert.equal(isThere('restoring.json'), false)
  }
})

test(
  'a restore of a host that is killed as its directory takes its place says what was left out when it is repeated',
  { skip: missing('strace') },
  async (t) => {
    const root = scratchFolder(t, 'backup-crash')
    const data = join(root, 'data')
    const folder = join(root, 'new')
    const environment = { LETTERLOCK_BACKUP_FOLDER: join(root, 'target') }
    await createAccounts(data, [USER])
    const [lost = ''] = readdirSync(join(data, 'mail', 'example.org'))
    await createAccounts(data, ['other@example.org'])
    rmSync(join(data, 'mail', 'example.org', lost, 'mail.db'))
    const backup = (
      /** @type {string[]} */ args,
      input = '',
      wrapper = /** @type {string[]} */ ([])
    ) => letterlock(['backup', ...args], { input, environment, wrapper })
    const [recoveryKey] = /AGE\S+/.exec((await backup(['init', '--data', data])).stdout) ?? []
    assert.notEqual((await backup(['run', '--data', data])).code, 0)
    const restore = (/** @type {string[]} */ ...wrapper) =>
      backup(
        ['restore', '--host', '--password-stdin', '--data', folder],
        `${recoveryKey}\n`,
        wrapper
      )
    const staged = join(folder, 'restoring-directory.db')
    const inject = ['-e', 'trace=rename', '-e', 'inject=rename:signal=SIGALRM']
    const died = await restore('strace', '-f', '-qq', '-o', '/dev/null', '-P', staged, ...inject)
    assert.notEqual(died.code, 0)
    assert.deepEqual([existsSync(join(folder, 'directory.db')), died.stdout], [true, ''])
    const { code, stdout, stderr } = await restore()
    assert.equal(code, 1)
    assert.match(stderr, /^not restored: user@example\.org \(BACKUP_MISSING\)$/m)
    assert.match(stdout, /^1 account restored from \S+, 1 missing$/m)
  }
)
