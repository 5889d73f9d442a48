import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startCluster } from '../helpers/cluster.js'
import { MixedLoad } from '../helpers/mixed-load.js'
import { createAccounts, letterlock, scratchFolder } from '../helpers/process.js'
import { deliver, WireClient } from '../helpers/wire-client.js'

const isTorture = Boolean(process.env['LETTERLOCK_TEST_TORTURE'])
/** For a shorter torture than the usual 50 rounds. */
const ROUNDS = Number(process.env['LETTERLOCK_TEST_ROUNDS'] ?? (isTorture ? 50 : 10))
/** One round of so many is a reload of all workers, the others kill one. */
const RELOAD_EVERY = isTorture ? 2 : 5
const USERS = Array.from({ length: isTorture ? 20 : 8 }, (_, n) => `u${n}@example.org`)
const LOAD = isTorture
  ? { writers: 50, idlers: 40, deliverers: 10, pauseMs: 100 }
  : { writers: 12, idlers: 8, deliverers: 4, pauseMs: 100 }
const CLIENTS = LOAD.writers + LOAD.idlers + LOAD.deliverers

/**
 * @param {import('node:test').TestContext} t
 * @param {{ workers: number, users?: string[], environment?: Record<string, string> }} options
 */
async function setUp(t, { workers, users = USERS, environment = {} }) {
  const folder = scratchFolder(t, 'cluster')
  const data = join(folder, 'data')
  mkdirSync(data)
  await createAccounts(data, users)
  const args = ['--allow-plaintext-loopback']
  const cluster = await startCluster({ data, workers, args, environment })
  t.after(() => cluster.stop())
  return { folder, data, cluster }
}

/**
 * @param {number[]} awayMs
 * @returns {string}
 */
function returnsOf(awayMs) {
  const sorted = awayMs.toSorted((left, right) => left - right)
  const within = (/** @type {number} */ part) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
  return `${sorted.length} returns, half within ${within(0.5)} ms, 99 of 100 within ${within(0.99)} ms, all within ${within(1)} ms`
}

test('the protocol is the same with two workers, whichever of them a connection reaches', () => {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      'test/run.js',
      '--workers=2',
      ...['rfc4978', 'rfc6851', 'rfc5258'].map((rfc) => `test/protocol/${rfc}`),
      ...['fetch', 'store'].map((name) => `test/protocol/rfc3501/${name}.test.js`)
    ],
    { encoding: 'utf8', env: environment }
  )
  assert.equal(status, 0, stdout.slice(-4000))
  assert.match(stdout, /pass [1-9]/)
})

test(`${ROUNDS} rounds of kill -9 of a random worker or a reload of all, under mixed load: nothing acknowledged is lost, every client comes back`, async (t) => {
  const { cluster } = await setUp(t, { workers: 3 })
  const load = new MixedLoad(cluster.ports)
  load.start(USERS, LOAD)
  /** @type {Record<'kill' | 'reload', number[]>} */
  const awayMs = { kill: [], reload: [] }
  for (let round = 1; round <= ROUNDS; round++) {
    const event = round % RELOAD_EVERY === 0 ? 'reload' : 'kill'
    await cluster[event]()
    await load.everyoneBack()
    awayMs[event].push(...load.takeAwayMs())
  }
  // And while the clients of the one before are still coming back.
  for (let n = 0; n < 3; n++) await cluster.kill()
  await load.stop()
  const { appended, delivered } = await load.verify()
  t.diagnostic(`${CLIENTS} clients: ${appended} appended, read and flagged, ${delivered} delivered`)
  for (const [event, times] of Object.entries(awayMs)) t.diagnostic(`${event}: ${returnsOf(times)}`)
  for (const number of [appended, delivered, awayMs.kill.length, awayMs.reload.length])
    assert.ok(number > 0)
  assert.deepEqual(cluster.output().match(/.*"level":"error".*/g) ?? [], [])
})

test('all sessions of an account meet in one worker: a change of one is told to the others in IDLE at once', async (t) => {
  const users = ['alice@example.org']
  const { data, cluster } = await setUp(t, { workers: 3, users })
  const clients = []
  for (let n = 0; n < 12; n++) {
    const isTls = n % 2 === 0
    const port = isTls ? cluster.ports.imaps : cluster.ports.imap
    const client = await WireClient.connect(port, { isTls })
    t.after(() => client.destroy())
    await client.login('alice@example.org')
    if (n % 3 === 0) await client.command('SELECT INBOX')
    clients.push(client)
  }
  const pids = new Set(
    cluster
      .output()
      .match(/"pid":\d+[^\n]*"logged in"/g)
      ?.map((line) => line.split(',')[0])
  )
  t.diagnostic(`${pids.size} workers took the logins`)
  // One that comes in at one worker and is served by another is one connection all the same.
  const metrics = await (await fetch(`http://127.0.0.1:${cluster.ports.admin}/metrics`)).text()
  assert.deepEqual(metrics.match(/^letterlock_(connections|sessions) .*$/gm), [
    'letterlock_connections 12',
    'letterlock_sessions 12'
  ])
  const idlers = clients.filter((_, n) => n % 3 === 0)
  for (const idler of idlers) {
    idler.send('i IDLE\r\n')
    await idler.until(/\+ idling\r\n/)
  }
  const writer = /** @type {WireClient} */ (clients[1])
  await writer.command('APPEND INBOX', Buffer.from('Subject: x\r\n\r\nbody\r\n'))
  for (const idler of idlers) await idler.until(/\* 1 EXISTS\r\n/)
  assert.match(
    await deliver(cluster.ports.lmtp, { to: 'alice@example.org', message: 'Subject: y\r\n\r\n' }),
    /^250 /
  )
  for (const idler of idlers) await idler.until(/\* 2 EXISTS\r\n/)

  // Another process writes to the mailbox.
  const eml = join(data, '..', 'one.eml')
  writeFileSync(eml, 'Subject: z\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\n\r\nbody\r\n')
  const imported = await letterlock(
    ['import', '--data', data, '--account', 'alice@example.org', '--password-stdin', eml],
    { input: 'pass\n' }
  )
  assert.equal(imported.code, 0, imported.stderr)
  for (const idler of idlers) await idler.until(/\* 3 EXISTS\r\n/)
})

test('the host is ready all the time while its workers are replaced', async (t) => {
  const { cluster } = await setUp(t, {
    workers: 2,
    users: ['alice@example.org'],
    environment: { LETTERLOCK_SHUTDOWN_GRACE_MS: '2000' }
  })
  // Of whoever does not read its answers the old worker waits for as long as it may.
  const slow = await WireClient.connect(cluster.ports.imap)
  t.after(() => slow.destroy())
  await slow.login('alice@example.org')
  await slow.command('APPEND INBOX', Buffer.from(`Subject: x\r\n\r\n${'y'.repeat(400_000)}\r\n`))
  await slow.command('SELECT INBOX')
  slow.socket.pause()
  slow.send('f FETCH 1 BODY.PEEK[]\r\n'.repeat(60))

  const reloaded = cluster.reload().then(() => true)
  /** @type {Map<number, number>} how often which answer came */
  const answers = new Map()
  for (let isOver = false; !isOver; isOver = await Promise.race([reloaded, false])) {
    const headers = { connection: 'close' }
    const url = `http://127.0.0.1:${cluster.ports.admin}/health/ready`
    // A connection that the old worker has just taken may end with it.
    const answer = await fetch(url, { headers }).catch(() => null)
    if (answer !== null) answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1)
  }
  assert.deepEqual([...answers.keys()], [200])
})

test('the sessions of a worker that dies end with BYE, and its accounts live on elsewhere', async (t) => {
  const { data, cluster } = await setUp(t, { workers: 2 })
  /** @type {{ client: WireClient, user: string }[]} */
  const sessions = []
  for (const user of USERS) {
    // By TLS and through both workers: some are relayed, some are not.
    for (let n = 0; n < 2; n++) {
      const client = await WireClient.connect(cluster.ports.imaps, { isTls: true })
      t.after(() => client.destroy())
      await client.login(user)
      await client.command('SELECT INBOX')
      client.send('i IDLE\r\n')
      await client.until(/\+ idling\r\n/)
      sessions.push({ client, user })
    }
  }
  await cluster.kill()
  const byes = []
  for (const { client, user } of sessions) {
    if (client.received.includes('* BYE')) byes.push(user)
    const again = await WireClient.connect(cluster.ports.imap)
    t.after(() => again.destroy())
    await again.login(user)
    assert.match(await again.command('STATUS INBOX (MESSAGES)'), /^w\d+ OK/m)
  }
  t.diagnostic(`${byes.length} of ${sessions.length} sessions were told BYE`)
  const sockets = readdirSync(join(data, 'run')).filter((name) => name.startsWith('worker-'))
  assert.equal(sockets.length, 2, sockets.join())
})

test('a worker that hangs is told of by the others', async (t) => {
  const { data, cluster } = await setUp(t, { workers: 2, users: [] })
  const ask = async (/** @type {string} */ path) => {
    const url = `http://127.0.0.1:${cluster.ports.admin}${path}`
    return await fetch(url, { headers: { connection: 'close' } })
  }
  const eventLoop = async () => {
    const { checks } = /** @type {any} */ (await (await ask('/health/deep')).json())
    return checks.find((/** @type {any} */ { name }) => name === 'event-loop')
  }
  assert.doesNotMatch((await eventLoop()).text, /hang/)
  const [socket = ''] = readdirSync(join(data, 'run')).filter((name) => name.startsWith('worker-'))
  const pid = Number(/-(\d+)\.sock$/.exec(socket)?.[1])
  process.kill(pid, 'SIGSTOP')
  try {
    const deep = eventLoop()
    const first = await Promise.race([deep, ask('/health/ready')])
    assert.equal(first.status, 200, 'a load balancer waits for nobody')
    const { status, text } = await deep
    assert.equal(status, 'fail')
    assert.equal(text, 'No answer from 1 of 2 processes: hung, or stopped')
    assert.match(await (await ask('/metrics')).text(), /^letterlock_workers_silent 1$/m)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  assert.match(await (await ask('/metrics')).text(), /^letterlock_workers_silent 0$/m)
})
