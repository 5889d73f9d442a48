import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../../helpers/process.js'
import { WireClient, connectLmtp, deliver, deliverOver } from '../../helpers/wire-client.js'

const ANNA = 'anna@example.org'
const BEA = 'bea@example.org'

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const parent = scratchFolder(t, 'maintain')
  const data = join(parent, 'data')
  mkdirSync(data)
  await createAccounts(data, [ANNA, BEA])
  const run = (/** @type {string[]} */ args, input = '') =>
    letterlock([...args, '--data', data], { input })
  const withPassword = (/** @type {string[]} */ args, input = 'pass\n') =>
    run([...args, '--password-stdin'], input)
  const folderOf = async (/** @type {string} */ address) =>
    JSON.parse((await run(['account', 'show', address, '--json'])).stdout).folder
  return { parent, data, run, withPassword, folderOf }
}

/**
 * @param {string} parent
 * @param {number} count
 * @returns {string} a folder of messages of 40 kB
 */
function makeMessages(parent, count) {
  const folder = join(parent, 'eml')
  mkdirSync(folder)
  for (let i = 0; i < count; i++) {
    const body = randomBytes(30_000).toString('base64').replace(/.{76}/g, '$&\r\n')
    const head = `Subject: secret subject ${i}\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n`
    writeFileSync(join(folder, `${i}.eml`), head + body)
  }
  return folder
}

test('maintain looks after the mailboxes that are named, each with its password, and tells figures', async (t) => {
  const { parent, run, withPassword, folderOf } = await setUp(t)
  const messages = makeMessages(parent, 20)
  const imported = await withPassword(['import', messages, '--account', ANNA])
  assert.equal(imported.code, 0, imported.stderr)

  const both = await withPassword(['maintain', ANNA, BEA], 'pass\nwrong\n')
  assert.equal(both.code, 1)
  assert.match(both.stdout, /^anna@example\.org\tquick-check: done, asked for, \d+ ms$/m)
  assert.match(both.stdout, /^anna@example\.org\tok$/m)
  assert.match(both.stderr, /bea@example\.org: Authentication failed/)

  // A line is that of the address in its place, whether there is such an account or not.
  const nobody = 'nobody@example.org'
  const some = await withPassword(['maintain', nobody, ANNA, BEA], 'another\npass\nwrong\n')
  assert.match(some.stdout, /^anna@example\.org\tok$/m)
  assert.match(some.stderr, /nobody@example\.org: There is no account/)
  assert.match(some.stderr, /bea@example\.org: Authentication failed/)

  const compacted = await withPassword(['maintain', '--compact', '--reindex', ANNA])
  assert.match(compacted.stdout, /search-index: done, .*waiting 20 -> 0/)
  assert.match(compacted.stdout, /compact: done, asked for, file .* ms/)
  const checked = await withPassword(['check', ANNA])
  assert.equal(checked.code, 0, checked.stdout)

  const status = await run(['maintain', '--status'])
  assert.match(status.stdout, /^anna@example\.org\t.* [kM]B, \d+ % free\tlast looked after 20/m)
  assert.match(status.stdout, /^bea@example\.org\tnot measured yet/m)
  const json = JSON.parse((await run(['maintain', '--status', '--json', ANNA])).stdout)
  assert.equal(json.runs[0].job, 'compact')
  assert.doesNotMatch(JSON.stringify(json), /secret subject|INBOX/)
  const { length } = readdirSync(await folderOf(ANNA)).filter((name) => name.includes('.next'))
  assert.equal(length, 0)
})

test('maintain without an account asks the server, which looks after who is there', async (t) => {
  const { data, run } = await setUp(t)
  const environment = { LETTERLOCK_MAINTENANCE_QUIET_MS: '0' }
  const server = await startServerProcess(t, { data, environment })
  const client = await WireClient.connect(server.ports.imap)
  await client.login(ANNA)
  const asked = await run(['maintain'])
  assert.equal(asked.stdout, '2 mailboxes are looked after when they are next open and quiet\n')
  const compact = await run(['maintain', '--compact'])
  assert.equal(compact.code, 2)
  const figures = async () => {
    const health = await fetch(`http://127.0.0.1:${server.ports.admin}/health/maintenance`)
    assert.equal(health.status, 200)
    return /** @type {any} */ (await health.json())
  }
  const isBusy = async () => {
    const { maintenanceDone, maintenanceRunning } = await figures()
    return maintenanceDone === 0 || maintenanceRunning > 0
  }
  const askedFor = async () => {
    const lines = (await run(['maintain', '--status'])).stdout.trimEnd().split('\n')
    return lines.map((line) => line.includes('asked for'))
  }
  /** @type {boolean[]} */
  let left
  // What is due by schedule may have been done before it was asked.
  do {
    while (await isBusy()) await new Promise((resolve) => setTimeout(resolve, 100))
    left = await askedFor()
  } while (left[0])
  assert.deepEqual(left, [false, true])
  assert.equal((await figures()).failingTotal, 0)
  // Its mailbox is open: what needs it alone says so.
  for (const [code, ...command] of /** @type {[number, ...string[]][]} */ ([
    [1, 'maintain', '--compact'],
    [2, 'repair']
  ])) {
    const args = [...command, ANNA, '--data', data, '--password-stdin']
    const refused = await letterlock(args, { input: 'pass\n' })
    assert.equal(refused.code, code)
    assert.match(
      refused.stderr,
      /^letterlock: .*The mailbox is open: end its sessions, or stop the server, and try again in a minute$/m
    )
    assert.doesNotMatch(refused.stderr, /mail\.lock/)
  }
  client.destroy()
  assert.equal(await server.stop(), 0)
})

test('the admin interface asks for one mailbox, which is looked after, and gives the records', async (t) => {
  const { data, run } = await setUp(t)
  const server = await startServerProcess(t, {
    data,
    environment: { LETTERLOCK_MAINTENANCE_QUIET_MS: '0', LETTERLOCK_ACCOUNTS_LINGER_MS: '0' }
  })
  const made = await run(['token', 'create', '--label', 'test', '--scope', 'accounts'])
  const reader = await run(['token', 'create', '--label', 'reader', '--scope', 'read'])
  const ask = async (
    /** @type {string} */ method,
    /** @type {object | null} */ body,
    token = made.stdout.trim()
  ) => {
    const answer = await fetch(`http://127.0.0.1:${server.ports.admin}/v1/maintenance`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) })
    })
    return { status: answer.status, body: /** @type {any} */ (await answer.json()) }
  }
  const { id } = JSON.parse((await run(['account', 'show', ANNA, '--json'])).stdout)
  assert.equal((await ask('POST', { accountId: id }, reader.stdout.trim())).status, 403)
  assert.deepEqual(await ask('POST', { accountId: id }), { status: 202, body: { accounts: 1 } })
  // Both come, and stay, so that no job has to give way to the end of a mailbox; only one was asked for.
  const clients = []
  for (const user of [ANNA, BEA]) {
    const client = await WireClient.connect(server.ports.imap)
    await client.login(user)
    clients.push(client)
  }
  const runs = async () => (await ask('GET', null)).body.runs
  const isDone = (/** @type {any} */ one) =>
    one.job === 'quick-check' && one.result === 'done' && one.accountId === id
  while (!(await runs()).some(isDone)) await new Promise((resolve) => setTimeout(resolve, 100))
  for (const client of clients) client.destroy()
  const asked = (await runs()).filter((/** @type {any} */ one) => one.why === 'asked for')
  assert.ok(asked.length > 0)
  for (const one of asked) {
    assert.equal(one.accountId, id)
    assert.ok(one.tookMs >= 0 && one.result === 'done')
  }
  assert.equal(await server.stop(), 0)
})

test('maintain asks for nothing where --json was meant for the status', async (t) => {
  const { run } = await setUp(t)
  const asked = await run(['maintain', '--json'])
  assert.equal(asked.code, 2)
  assert.match(asked.stderr, /--json goes with --status/)
  for (const line of (await run(['maintain', '--status', '--json'])).stdout.trim().split('\n'))
    assert.equal(JSON.parse(line).requestedAtMs, null)
})

test('a repair or a check that did not begin ends with 2: 1 says what was found', async (t) => {
  const { parent, run } = await setUp(t)
  const unreadable = join(parent, 'settings.json')
  writeFileSync(unreadable, '{')
  for (const command of ['repair', 'check'])
    for (const [args, input] of /** @type {[string[], string][]} */ ([
      [[ANNA, '--password-stdin'], 'wrong\n'],
      [['nobody@example.org', '--password-stdin'], 'wrong\n'],
      [[ANNA, '--password-stdin', '--config', unreadable], 'wrong\n'],
      [[ANNA, '--pasword-stdin'], ''],
      [[], '']
    ]))
      assert.equal((await run([command, ...args], input)).code, 2, `${command} ${args.join(' ')}`)
})

test('repair saves what is whole, lists what is not, and keeps the damaged file', async (t) => {
  const { parent, run, withPassword, folderOf } = await setUp(t)
  await withPassword(['import', makeMessages(parent, 30), '--account', ANNA])
  const folder = await folderOf(ANNA)
  const path = join(folder, 'mail.db')
  const bytes = readFileSync(path)
  const middle = Math.floor(bytes.length / 8192) * 4096 + 1000
  bytes[middle] = (bytes[middle] ?? 0) ^ 0xff
  writeFileSync(path, bytes)
  assert.equal((await withPassword(['check', ANNA])).code, 1)

  const repaired = await withPassword(['repair', ANNA])
  assert.equal(repaired.code, 1, repaired.stderr)
  assert.match(repaired.stdout, /^29 messages, .* saved$/m)
  assert.match(repaired.stdout, /^lost\tINBOX\tUID \d+\t.* kB\tarrived 20/m)
  const kept = /kept as (.*)$/m.exec(repaired.stdout)?.[1] ?? ''
  assert.equal(statSync(kept).size, bytes.length)
  assert.equal((await withPassword(['check', ANNA])).code, 0)
  const again = await withPassword(['repair', ANNA])
  assert.equal(again.code, 0)

  writeFileSync(path, Buffer.alloc(8192, 1))
  const hopeless = await withPassword(['repair', ANNA])
  assert.equal(hopeless.code, 2)
  assert.match(hopeless.stderr, /only a backup/)
  assert.match((await run(['account', 'show', ANNA])).stdout, /anna/)
})

test('mail that was set aside is listed, and comes in after a retry', async (t) => {
  const { data, run, folderOf } = await setUp(t)
  const server = await startServerProcess(t, { data })
  const lmtp = await connectLmtp(server.ports.lmtp)
  await deliverOver(lmtp, { to: ANNA, message: Buffer.from('Subject: x\r\n\r\nhello\r\n') })
  lmtp.destroy()
  const spool = join(await folderOf(ANNA), 'spool')
  const waiting = await run(['spool', 'list'])
  assert.match(waiting.stdout, /^anna@example\.org\twaits\t[0-9a-f]{32}\.sealed\t/)
  const [name = ''] = readdirSync(spool).filter((entry) => entry.endsWith('.sealed'))
  mkdirSync(join(spool, 'aside'))
  renameSync(join(spool, name), join(spool, 'aside', name))
  utimesSync(join(spool, 'aside', name), 1e9, 1e9)
  assert.match((await run(['spool', 'list', ANNA])).stdout, /\taside\t/)
  assert.equal((await run(['spool', 'retry', ANNA, 'nothing'])).code, 1)
  // Named twice, as by a list that was pasted together, it is still one.
  assert.equal((await run(['spool', 'retry', ANNA, name, name])).stdout, '1 put back\n')
  // It waits from now on.
  assert.doesNotMatch((await run(['spool', 'list'])).stdout, /\t2001-/)

  const client = await WireClient.connect(server.ports.imap)
  await client.login(ANNA)
  assert.match(await client.command('STATUS INBOX (MESSAGES)'), /MESSAGES 1\)/)
  assert.equal((await run(['spool', 'list'])).stdout, '')

  // A mailbox that is open looks at once.
  await deliver(server.ports.lmtp, { to: BEA, message: 'Subject: y\r\n\r\nhello\r\n' })
  const spoolOfBea = join(await folderOf(BEA), 'spool')
  const [other = ''] = readdirSync(spoolOfBea).filter((entry) => entry.endsWith('.sealed'))
  mkdirSync(join(spoolOfBea, 'aside'))
  renameSync(join(spoolOfBea, other), join(spoolOfBea, 'aside', other))
  const bea = await WireClient.connect(server.ports.imap)
  await bea.login(BEA)
  await bea.command('SELECT INBOX')
  bea.send('i IDLE\r\n')
  await bea.until(/^\+ .*\r\n/m)
  assert.equal((await run(['spool', 'retry', BEA])).stdout, '1 put back\n')
  await bea.until(/\* 1 EXISTS/)
  for (const each of [client, bea]) each.destroy()
  assert.equal(await server.stop(), 0)
})
