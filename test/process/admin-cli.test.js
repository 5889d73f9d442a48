import { test } from 'node:test'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient, deliver } from '../helpers/wire-client.js'

test('a token is shown once, opens the interface, and is nothing any more once revoked', async (t) => {
  const data = join(scratchFolder(t, 'token'), 'data')
  await createAccounts(data, ['anna@example.org'])
  const server = await startServerProcess(t, { data })
  const run = (/** @type {string[]} */ ...args) => letterlock([...args, '--data', data])
  const made = await run(
    'token',
    'create',
    '--label',
    'test',
    '--scope',
    'read',
    'backups',
    '--expires',
    '1d'
  )
  const token = made.stdout.trim()
  assert.match(token, /^lltok_[\w-]{43}$/)
  const [, id = ''] = /token ([0-9a-f]{16})/.exec(made.stderr) ?? []
  const ask = (/** @type {string} */ path) =>
    fetch(`http://127.0.0.1:${server.ports.admin}${path}`, {
      headers: { authorization: `Bearer ${token}` }
    })
  const accounts = await ask('/v1/accounts')
  assert.equal(accounts.status, 200)
  assert.equal(/** @type {any} */ (await accounts.json()).accounts[0].address, 'anna@example.org')
  assert.match(
    (await run('token', 'list')).stdout,
    new RegExp(`^${id}\\ttest\\tread,backups\\tevery tenant`)
  )
  assert.equal((await run('token', 'list')).stdout.includes(token), false)
  assert.equal((await run('token', 'revoke', id)).code, 0)
  assert.equal((await ask('/v1/accounts')).status, 401)
  assert.equal((await run('token', 'revoke', id)).code, 1)
  assert.equal((await run('token', 'create', '--scope', 'nothing')).code, 2)
  assert.equal((await run('token', 'create', '--tenant', 'nobody')).code, 1)
  assert.equal(server.output().includes(token), false)

  const audit = await run('audit', 'export')
  const events = audit.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    events.map(({ action }) => action).filter((action) => action.startsWith('token')),
    ['token-create', 'token-revoke']
  )
  const rest = await run(
    'audit',
    'export',
    '--after-id',
    String(events[0].id),
    '--action',
    'token-revoke'
  )
  assert.equal(rest.stdout.trim().split('\n').length, 1)
})

test('a tenant’s quota holds for all its accounts together, delivered or appended', async (t) => {
  const data = join(scratchFolder(t, 'tenant'), 'data')
  await createAccounts(data, ['anna@example.org', 'ben@example.org', 'clara@example.net'])
  const run = (/** @type {string[]} */ ...args) => letterlock([...args, '--data', data])
  assert.equal(
    (await run('tenant', 'create', 'acme', '--quota', '40kB', '--accounts', '2')).code,
    0
  )
  assert.equal((await run('tenant', 'assign', 'acme', 'example.org')).code, 0)
  assert.match(
    (await run('tenant', 'list')).stdout,
    /^acme\t2 accounts, 0 B of 40\.0 kB\texample\.org$/m
  )
  const full = await letterlock(
    ['account', 'create', 'dora@example.org', '--password-stdin', '--data', data],
    { input: 'a good password\n' }
  )
  assert.equal(full.code, 1)
  assert.equal((await run('tenant', 'delete', 'acme')).code, 1)

  const server = await startServerProcess(t, { data })
  const client = await WireClient.connect(server.ports.imap)
  t.after(() => client.destroy())
  await client.login('anna@example.org')
  const message = Buffer.from(`Subject: x\r\n\r\n${'x'.repeat(30_000)}\r\n`)
  assert.match(await client.command('APPEND INBOX', message), /OK/)
  assert.match(await client.command('APPEND INBOX', message), /NO \[OVERQUOTA\]/)
  const text = message.toString()
  /** @type {string} */
  let reply = ''
  // The usage is told within a second.
  for (let turn = 0; turn < 300 && !reply.startsWith('452'); turn++) {
    await sleep(100)
    reply = await deliver(server.ports.lmtp, { to: 'ben@example.org', message: text })
  }
  assert.match(reply, /^452/)
  assert.match(await deliver(server.ports.lmtp, { to: 'clara@example.net', message: text }), /^250/)
})

test('doctor says what to do about what it finds, and exits with 1 where something fails', async (t) => {
  const data = join(scratchFolder(t, 'doctor'), 'data')
  await createAccounts(data, ['anna@example.org'])
  const server = await startServerProcess(t, { data })
  const doctor = async (/** @type {string[]} */ ...args) => {
    const environment = {
      LETTERLOCK_IMAP_LISTEN: `127.0.0.1:${server.ports.imap}`,
      LETTERLOCK_DISCOVERY_LISTEN: '192.0.2.77:443'
    }
    const { code, stdout } = await letterlock(['doctor', '--data', data, ...args], { environment })
    return { code, stdout }
  }
  let first = await doctor()
  // A machine that has much else to do may take longer than is waited for a greeting.
  for (let tries = 0; tries < 5 && !first.stdout.includes('Letterlock answers there'); tries++)
    first = await doctor()
  assert.equal(first.code, 1)
  assert.match(first.stdout, /ok {4}port imap: .*Letterlock answers there/)
  assert.match(first.stdout, /fail {2}port discovery: 192\.0\.2\.77:443 is no address of this/)
  assert.match(first.stdout, /warn {2}certificate: Self-signed/)
  assert.match(first.stdout, /fail {2}backups: None are set up\n {6}→ letterlock backup init/)
  assert.match(first.stdout, /ok {4}permissions/)
  assert.match(first.stdout, /(ok|warn) {2,4}open files: \d+ are allowed to the running server/)
  // A unit's limits are the server's, and not those of the shell that asks.
  execFileSync('prlimit', ['--pid', `${server.child.pid}`, '--nofile=4097:4097'])
  const limited = await doctor()
  assert.match(limited.stdout, /warn {2}open files: 4097 are allowed to the running server; /)
  await server.stop()
  assert.match((await doctor()).stdout, /open files: \d+ are allowed to this command/)
  await chmod(join(data, 'pepper'), 0o644)
  const open = await doctor('--json')
  const findings = open.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const permission = findings.find(({ name }) => name === 'permissions')
  assert.equal(permission.status, 'fail')
  assert.match(permission.advice, /chmod go= .*pepper/)

  await chmod(join(data, 'pepper'), 0o600)
  const { stdout } = await doctor('--dns', '--host', 'mail.example.org')
  assert.match(stdout, /^_imaps\._tcp\.example\.org\. IN SRV 0 1 993 mail\.example\.org\.$/m)
  assert.match(stdout, /^example\.org\. IN MX 10 mail\.example\.org\.$/m)
})
