import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import { smallContainer, smallContainerIsMissing } from '../helpers/small-container.js'
import { WireClient } from '../helpers/wire-client.js'

const MiB = 1024 ** 2

test('a server beyond its memory refuses new sessions and deliveries, keeps those that are there, and says so', async (t) => {
  const data = join(scratchFolder(t, 'pressure'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['u1@example.org'])
  const full = join(data, '..', 'full')
  const server = await startServerProcess(t, {
    data,
    environment: {
      LETTERLOCK_LIMITS_MEMORY_BYTES: '1',
      LETTERLOCK_TEST_FULL: full,
      NODE_OPTIONS: `--import=${new URL('../helpers/memory-on-demand.js', import.meta.url)}`
    }
  })
  const early = await WireClient.connect(server.ports.imap)
  t.after(() => early.destroy())
  await early.login('u1@example.org')
  const ask = (/** @type {string} */ path) => fetch(`http://127.0.0.1:${server.ports.admin}${path}`)
  assert.equal((await ask('/health/ready')).status, 200)
  writeFileSync(full, '')
  await server.says('new sessions are refused')

  const late = new WireClient(connect({ host: '127.0.0.1', port: server.ports.imap }))
  await late.until(
    /^\* BYE \[UNAVAILABLE\] The server is busy beyond its means, come back later\r\n/
  )
  late.destroy()
  const transfer = new WireClient(connect({ host: '127.0.0.1', port: server.ports.lmtp }))
  await transfer.until(/^421 4\.3\.2 [^\r]*\r\n/)
  transfer.destroy()

  await early.command('SELECT INBOX')
  assert.match(
    await early.command('APPEND INBOX', Buffer.from('Subject: x\r\n\r\n')),
    /OK \[APPENDUID/
  )

  assert.equal((await ask('/health/live')).status, 200)
  assert.equal((await ask('/health/ready')).status, 503)
  const deep = /** @type {any} */ (await (await ask('/health/deep')).json())
  const check = deep.checks.find((/** @type {any} */ { name }) => name === 'pressure')
  assert.equal(check.status, 'fail')
  assert.match(check.text, /^No new sessions in 1 of 1 process: /)
  const metrics = await (await ask('/metrics')).text()
  assert.match(metrics, /^letterlock_workers_refusing 1$/m)
  assert.match(metrics, /^letterlock_refused_for_pressure_total 2$/m)
})

test('a server without file descriptors lives on, refuses new sessions, and takes them again', async (t) => {
  const data = join(scratchFolder(t, 'descriptors'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['u1@example.org'])
  // Of a shell, because its limit is the one that Node does not raise.
  const wrapper = ['sh', '-c', 'ulimit -n 80 && exec "$0" "$@"']
  const server = await startServerProcess(t, { data, wrapper })
  const early = await WireClient.connect(server.ports.imap)
  const beside = await WireClient.connect(server.ports.imap)
  t.after(() => [early, beside].forEach((client) => client.destroy()))
  // An operator’s, which is there already and has no other for the next question.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const statusOf = async (/** @type {string} */ path) => {
    const [response] = await once(get({ agent, port: server.ports.admin, path }), 'response')
    await once(response.resume(), 'end')
    return response.statusCode
  }
  assert.equal(await statusOf('/health/live'), 200)
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  // Again and again: a thread that was about to start fails for want of descriptors and gives back those that it had.
  const taking = setInterval(() => {
    for (let i = 0; i < 25; i++) sockets.push(connect(server.ports.imap, '127.0.0.1'))
    for (const socket of sockets.slice(-25)) socket.on('error', () => {}).resume()
  }, 100)
  t.after(() => clearInterval(taking))
  await server.says('"reason":"descriptors"')
  // The right password, and no file can be opened.
  const login = 'LOGIN u1@example.org pass'
  for (const answer of await Promise.all([early.command(login), beside.command(login)]))
    assert.match(answer, /^\S+ NO \[UNAVAILABLE\] /)
  assert.equal(await statusOf('/metrics'), 200)
  assert.doesNotMatch(server.output(), /SQLITE_CANTOPEN|"level":"error"/)
  clearInterval(taking)
  for (const socket of sockets) socket.destroy()
  await server.says('new sessions are taken again')
  const client = await WireClient.connect(server.ports.imap)
  await client.login('u1@example.org')
  client.destroy()
  await early.login('u1@example.org')
  assert.equal(await server.stop(), 0)
})

test(
  'a container that has less left than it is to have refuses new sessions, however much the machine has',
  { skip: smallContainerIsMissing },
  async (t) => {
    const data = join(scratchFolder(t, 'container'), 'data')
    mkdirSync(data)
    const container = smallContainer(t, 640 * MiB)
    const server = await startServerProcess(t, {
      data,
      wrapper: container,
      environment: {
        LETTERLOCK_LIMITS_MEMORY_BYTES: String(1024 ** 4),
        LETTERLOCK_LIMITS_MEMORY_RESERVE_BYTES: String(160 * MiB)
      }
    })
    const [command = '', ...rest] = container
    const hold = `globalThis.held = Buffer.alloc(${400 * MiB}, 1); setInterval(() => {}, 1000)`
    const neighbour = spawn(command, [...rest, process.execPath, '-e', hold])
    const ended = once(neighbour, 'close')
    t.after(() => neighbour.kill('SIGKILL'))
    await server.says('"reason":"machine"')
    const refused = new WireClient(connect({ host: '127.0.0.1', port: server.ports.imap }))
    await refused.until(/^\* BYE \[UNAVAILABLE\] /)
    refused.destroy()
    neighbour.kill('SIGKILL')
    await ended
    await server.says('new sessions are taken again')
    const client = await WireClient.connect(server.ports.imap)
    client.destroy()
    assert.equal(await server.stop(), 0)
  }
)
