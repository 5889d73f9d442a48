import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { rootCertificates } from 'node:tls'
import Database from 'better-sqlite3-multiple-ciphers'
import { Command } from 'commander'
import { recordDamage } from '../../../src/accounts/damage.js'
import { register as registerCheck } from '../../../src/cli/commands/check.js'
import { makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../../helpers/process.js'

const ANNA = 'anna@example.org'

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const data = join(scratchFolder(t, 'answers'), 'data')
  const run = (/** @type {string[]} */ args, input = 'secret\n') =>
    letterlock([...args, '--data', data], { input })
  await createAccounts(data, [ANNA], 'secret')
  return { data, run }
}

test('the help of import imap has no option of import’s, and that of account set says when a quota holds', async () => {
  const { stdout } = await letterlock(['import', 'imap', '--help'])
  assert.match(stdout, /--from <url>/)
  assert.match(stdout, /--data <folder>/)
  assert.doesNotMatch(stdout, /--mbox-quoting|Global Options/)
  const set = await letterlock(['account', 'set', '--help'])
  assert.match(set.stdout, /holds within\s+seconds/)
})

test('account show has both quotas', async (t) => {
  const { run } = await setUp(t)
  const used = async () =>
    /^used .*$/m.exec((await run(['account', 'show', ANNA])).stdout)?.[0].replace(/ +/, ' ')
  assert.equal(await used(), 'used 0 messages, 0 B (no limit)')
  await run(['account', 'set', ANNA, '--quota-messages', '100'])
  assert.equal(await used(), 'used 0 messages, 0 B (at most 100 messages)')
  await run(['account', 'set', ANNA, '--quota', '2GB'])
  assert.equal(await used(), 'used 0 messages, 0 B (at most 2.0 GB, 100 messages)')
})

test('account delete says for how long backups bring the account back, where there are any', async (t) => {
  const { run } = await setUp(t)
  const ask = async () => (await run(['account', 'delete', ANNA])).stderr
  assert.match(await ask(), /^All mail of anna@example\.org will be lost for good\.$/m)
  await run(['backup', 'init'])
  assert.match(
    await ask(),
    /lost for good, except in backups: .* recovery key for 7 days \(backup\.eraseDeletedAfterDays\)\.$/m
  )
})

test('a restore of an address that nobody has does not say that it was deleted', async (t) => {
  const { run } = await setUp(t)
  const { stdout } = await run(['backup', 'init'])
  await run(['backup', 'run'])
  const recoveryKey = /AGE-SECRET-KEY-\S+/.exec(stdout)?.[0]
  const restored = await run(
    ['backup', 'restore', 'nobody@example.org', '--password-stdin'],
    `${recoveryKey}\n`
  )
  assert.equal(restored.code, 1)
  assert.match(restored.stderr, /^There is no account nobody@example\.org now\./)
  assert.doesNotMatch(restored.stderr, /was deleted/)
  assert.match(restored.stderr, /is in none of 1 backup, /)
})

test('a restore in place asks for the address, but neither with --yes nor with --password-stdin, as its help says', async (t) => {
  const { run } = await setUp(t)
  await run(['backup', 'init'])
  await run(['backup', 'run'])
  const restore = (/** @type {string[]} */ ...args) => run(['backup', 'restore', ...args], '')
  const unasked = await restore(ANNA)
  assert.equal(unasked.code, 2)
  assert.match(unasked.stderr, /no terminal to ask on: use --yes/)
  assert.match((await restore('--help')).stdout, /implies\s+--yes/)
  for (const quiet of ['--yes', '--password-stdin']) {
    const { code, stdout } = await restore(ANNA, quiet)
    assert.equal(code, 0)
    assert.match(stdout, /kept in \S+replaced-/)
  }
  // What the backup does not have is told by 1, a folder as well as a message.
  for (const [part, why] of /** @type {[string[], RegExp][]} */ ([
    [['--folder', 'Nowhere'], /No such folder in 2/],
    [['--folder', 'Drafts'], /The folder is empty in 2/],
    [['--message-id', '<1@x>'], /No such message in 2/]
  ])) {
    const { code, stderr } = await run(['backup', 'restore', ANNA, '--password-stdin', ...part])
    assert.deepEqual([code, why.test(stderr)], [1, true], stderr)
  }
})

test('a restore takes an account by its own address: another’s alias, or a detail, may have been that of a deleted one', async (t) => {
  const { data, run } = await setUp(t)
  const [detailed, ben] = ['anna+2024@example.org', 'ben@example.org']
  await createAccounts(data, [detailed, ben], 'secret')
  const { stdout } = await run(['backup', 'init'])
  const recoveryKey = /AGE-SECRET-KEY-\S+/.exec(stdout)?.[0]
  const made = await run(['backup', 'run'])
  const first = made.stdout.split(':')[0] ?? ''
  for (const address of [detailed, ben]) await run(['account', 'delete', address, '--yes'])
  await run(['account', 'alias', ANNA, '--add', ben])
  await run(['backup', 'run'])
  const restore = (/** @type {string[]} */ ...args) =>
    run(['backup', 'restore', ...args, '--password-stdin'], `${recoveryKey}\n`)

  const alias = await restore(ben)
  assert.equal(alias.code, 2)
  assert.match(alias.stderr, /^ben@example\.org is another name of anna@example\.org now\. /)
  assert.match(alias.stderr, /it was not deleted: it is anna@example\.org/)
  const under = await restore(ben, '--generation', first, '--as', 'ben-old@example.org')
  assert.match(under.stdout, /^ben-old@example\.org is back, /, under.stderr)
  const back = await restore(detailed)
  assert.match(back.stdout, /^anna\+2024@example\.org is back, /, back.stderr)
})

test('messages that come back in part are told, with 1; where the account has another key since, nothing was done', async (t) => {
  const { data, run } = await setUp(t)
  const mbox = join(data, '..', 'many')
  writeFileSync(mbox, 'From x Mon Jan  5 10:00:00 2026\n\nbody\n\n'.repeat(60))
  await run(['import', mbox, '--account', ANNA, '--password-stdin'])
  await run(['backup', 'init'])
  await run(['backup', 'run'])
  await run(['account', 'set', ANNA, '--quota-messages', '115'])
  const restore = () => run(['backup', 'restore', ANNA, '--folder', 'INBOX', '--password-stdin'])
  const ended = await restore()
  assert.equal(ended.code, 1)
  assert.match(
    ended.stderr,
    /^letterlock: The restore ended early, 50 messages are in Restored \S+: The mailbox is full$/m
  )
  await run(['account', 'rekey', ANNA, '--password-stdin'])
  const rekeyed = await restore()
  assert.equal(rekeyed.code, 2)
  assert.match(rekeyed.stderr, /has got another key since/)
})

test('options that would be left aside are refused: more would come than was asked for', async (t) => {
  const { data, run } = await setUp(t)
  const { stdout } = await run(['backup', 'init'])
  await run(['backup', 'run'])
  const recoveryKey = /AGE-SECRET-KEY-\S+/.exec(stdout)?.[0]
  const file = join(data, '..', 'whole.letterlock')
  const restore = (/** @type {string[]} */ ...args) => ['backup', 'restore', ...args]
  const refusals = /** @type {[string[], RegExp][]} */ ([
    [['export', '--account', ANNA, '--file', file, '--mailbox', 'Tort'], /--mailbox/],
    [['export', '--account', ANNA, '--file', file, '--format', 'mbox'], /--format/],
    [restore(ANNA, '--as', 'new@example.org', '--folder', 'Odd'), /--as .* --folder/],
    [restore(ANNA, '--as', 'new@example.org', '--message-id', '<1@x>'), /--as .* --message-id/],
    [restore(ANNA, '--at', '2099-01-01', '--generation', 'x'), /either --generation or --at/],
    [restore('--host', '--as', 'new@example.org'), /--host .* --as/],
    [restore('--host', '--folder', 'Odd'), /--host .* --folder/],
    [['backup', 'verify', ANNA, '--all'], /--all .* an address/],
    [['backup', 'verify', '--all', '--generation', 'x'], /--all .* --generation/],
    [['backup', 'verify', ANNA, '--quick'], /--quick .* an address/],
    [['import', 'imap', '--from', 'imaps://a@b', '--list', file], /--list .* --from/],
    [['import', 'imap', '--account', ANNA, '--list', file], /--list .* --account/]
  ])
  for (const [args, why] of refusals) {
    const { code, stderr } = await run(args)
    assert.deepEqual([code, why.test(stderr)], [2, true], `${args.join(' ')}: ${stderr}`)
  }
  assert.equal(existsSync(file), false)
  await run(['account', 'delete', ANNA, '--yes'])
  for (const part of [
    ['--folder', 'INBOX'],
    ['--message-id', '<1@x>']
  ]) {
    const args = restore(ANNA, '--password-stdin', ...part)
    const { code, stderr } = await run(args, `${recoveryKey}\n`)
    assert.equal(code, 2)
    assert.match(stderr, /a deleted one comes back as a whole/)
  }
  assert.equal((await run(['account', 'show', ANNA])).code, 1)
})

test('DNS lines are of no domain that only this machine knows', async (t) => {
  const { run } = await setUp(t)
  await run(['account', 'create', 'me@localhost', '--password-stdin'])
  const { stdout } = await run(['doctor', '--dns'])
  assert.match(stdout, /^example\.org\. IN MX /m)
  assert.doesNotMatch(stdout, /^localhost\./m)
  const data = join(scratchFolder(t, 'dns'), 'data')
  const at = (/** @type {string[]} */ ...args) =>
    letterlock([...args, '--data', data], { input: 'secret\n' })
  await at('account', 'create', 'me', '--password-stdin')
  const none = await at('doctor', '--dns')
  assert.equal(none.code, 1)
  assert.match(none.stderr, /no domain but localhost\. Name one: --dns example\.org/)
  assert.match((await at('doctor', '--dns', 'example.net')).stdout, /^example\.net\. IN MX /m)
})

test('a mailbox that was only found damaged has never been looked after', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  recordDamage(services, account.id)
  await services.directory.flush()
  const [summary] = await services.directory.listMaintenance()
  assert.equal(summary?.doneAtMs, null)
  assert.equal(summary?.failingJobs, 1)
})

test('the check of an empty mailbox has a bar without a number that is none', async (t) => {
  const { services } = await openTestAccounts(t)
  await makeAccount(services)
  const stdout = Object.assign(new PassThrough(), {
    isTTY: true,
    columns: 120,
    cursorTo: () => true,
    clearLine: () => true
  })
  let shown = ''
  stdout.on('data', (chunk) => (shown += chunk))
  const stdin = new PassThrough()
  stdin.end('old secret\n')
  const program = new Command()
  const { config, clock } = services
  registerCheck(
    program,
    /** @type {any} */ ({
      loadConfig: () => config,
      clock,
      stdin,
      stdout,
      stderr: new PassThrough()
    })
  )
  const exitCode = process.exitCode
  await program.parseAsync(['node', 'letterlock', 'check', ANNA, '--password-stdin'])
  process.exitCode = exitCode
  assert.match(shown, /ok\n$/)
  assert.match(shown, /checking .* left/)
  assert.doesNotMatch(shown, /NF|NULL/)
})

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ data: string, ports: Record<string, number>, copy: (url: string, more?: string[], environment?: Record<string, string>) => ReturnType<typeof letterlock> }>}
 *   `copy`: from a server into itself
 */
async function copyFromItself(t) {
  const { data } = await setUp(t)
  const { ports } = await startServerProcess(t, { data })
  return {
    data,
    ports,
    copy: (place, more = [], environment = {}) => {
      const [scheme, host] = place.split('://')
      const url = `${scheme}://${encodeURIComponent(ANNA)}@${host}`
      const to = ['--account', ANNA, '--data', data, '--password-stdin']
      const input = 'secret\nsecret\n'
      return letterlock(['import', 'imap', '--from', url, ...to, ...more], { input, environment })
    }
  }
}

test('an import from a server whose certificate nobody vouches for names --ca', async (t) => {
  const { data, ports, copy } = await copyFromItself(t)
  const place = `imaps://localhost:${ports.imaps}`
  const refused = await copy(place)
  assert.equal(refused.code, 2)
  assert.match(
    refused.stderr,
    /certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. If it is the right server, .* --ca FILE$/m
  )
  const certificate = join(data, 'tls', 'certificate.pem')
  assert.equal((await copy(place, ['--ca', certificate])).code, 0)
  // Another one is trusted besides.
  const other = join(data, 'other.pem')
  writeFileSync(other, rootCertificates[0] ?? '')
  const usual = { NODE_EXTRA_CA_CERTS: certificate }
  assert.equal((await copy(place, ['--ca', other], usual)).code, 0)
})

test('audit export takes a bare day as its beginning, and a time without a zone as UTC', async (t) => {
  const { data, run } = await setUp(t)
  const { stdout } = await run(['audit', 'export'])
  const [first = ''] = stdout.split('\n')
  const atMs = Date.parse(JSON.parse(first).at)
  const exported = async (/** @type {string[]} */ ...args) => {
    const all = ['audit', 'export', '--data', data, ...args]
    const { code, ...said } = await letterlock(all, { environment: { TZ: 'Asia/Tokyo' } })
    assert.equal(code, 0, said.stderr)
    return said.stdout === stdout ? 'all' : said.stdout
  }
  const textOf = (/** @type {number} */ timeMs) => new Date(timeMs).toISOString()
  const day = textOf(atMs).slice(0, 10)
  const next = textOf(atMs + 24 * 3_600_000).slice(0, 10)
  assert.equal(await exported('--since', day), 'all')
  assert.equal(await exported('--until', day), '')
  assert.equal(await exported('--since', next), '')
  assert.equal(await exported('--until', next), 'all')
  const [before, after] = [textOf(atMs - 60_000), textOf(atMs + 60_000)]
  assert.equal(await exported('--since', before.slice(0, -1)), 'all')
  assert.equal(await exported('--since', after.slice(0, 16)), '')
  assert.equal(await exported('--since', after.replace('T', ' ').replace('Z', '+00:00')), '')
  for (const text of ['yesterday', '2026-11-31', '2026-02-29T10:00Z']) {
    const refused = await run(['audit', 'export', '--since', text])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, new RegExp(`${text} is no time`))
  }
})

test('audit export of an action that there is not says which there are, instead of nothing', async (t) => {
  const { run } = await setUp(t)
  const known = await run(['audit', 'export', '--action', 'login-failed'])
  assert.deepEqual([known.code, known.stdout, known.stderr], [0, '', ''])
  const refused = await run(['audit', 'export', '--action', 'login_failed'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /“login_failed” is no action.*\blogin-failed, /)
})

test('audit export of a tenant that there never was is refused; one that was deleted is still told of', async (t) => {
  const { data, run } = await setUp(t)
  const refused = await run(['audit', 'export', '--tenant', 'exmaple.org'])
  assert.deepEqual([refused.code, refused.stdout], [2, ''])
  assert.match(refused.stderr, /no tenant “exmaple\.org”/)
  const db = new Database(join(data, 'directory.db'))
  db.exec("INSERT INTO audit (at_ms, action, tenant_id) VALUES (1, 'tenant-create', 'gone')")
  db.close()
  const { code, stdout } = await run(['audit', 'export', '--tenant', 'gone'])
  assert.deepEqual([code, JSON.parse(stdout).tenant], [0, 'gone'])
})

test('an address that no account can have is refused before a password is asked for', async (t) => {
  const { data } = await setUp(t)
  const create = async (/** @type {string} */ address) => {
    const { code, stderr } = await letterlock(['account', 'create', address, '--data', data])
    assert.equal(code, 1)
    return stderr.split('\n')[0]
  }
  assert.equal(await create('not@an@address'), 'letterlock: That is not a valid mail address')
  assert.equal(await create(ANNA), 'letterlock: An account of that address exists already')
})

test('an import that speaks TLS where STARTTLS is wanted says what to write', async (t) => {
  const { ports, copy } = await copyFromItself(t)
  const { code, stderr } = await copy(`imaps://localhost:${ports.imap}`)
  assert.equal(code, 2)
  assert.match(stderr, /does not begin with TLS at this port.*imap:\/\//)
  assert.doesNotMatch(stderr, /SSL routines/)
})

test('a token that cannot be revoked for now is not told as one that there is not', async (t) => {
  const { data, run } = await setUp(t)
  await run(['token', 'create', '--label', 'x', '--scope', 'read'])
  const id = /^[0-9a-f]+/.exec((await run(['token', 'list'])).stdout)?.[0] ?? ''
  const db = new Database(join(data, 'directory.db'))
  db.exec('BEGIN IMMEDIATE')
  const busy = await run(['token', 'revoke', id])
  db.exec('ROLLBACK')
  db.close()
  assert.equal(busy.code, 1)
  assert.match(busy.stderr, /busy/)
  assert.match((await run(['token', 'revoke', '0'.repeat(16)])).stderr, /There is no token 0{16}/)
  assert.match((await run(['token', 'revoke', id])).stdout, /^revoked /)
})

test('what makes no sense on the command line ends with 2, whatever the command', async (t) => {
  const { run } = await setUp(t)
  const faults = [
    ['account', 'show'],
    ['audit', 'export', '--nope'],
    ['token', 'revoke'],
    ['tenant', 'create'],
    ['spool', 'list', '--nope'],
    ['maintain', '--nope'],
    ['maintain', '--status', '--reindex', ANNA],
    ['app-password', 'list'],
    ['nonsense'],
    ['account', 'list', '--domain', 'exa mple'],
    ['open', 'x.letterlock', '--port', ''],
    ['open', 'x.letterlock', '--port', '65536'],
    ['import', 'imap', '--parallel', '0x10'],
    ['import', 'imap', '--connections', '17'],
    ['import', 'imap', '--list', 'x', '--password-stdin'],
    ['import', 'imap', '--from', 'imap://a@b', '--account', ANNA, '--parallel', '3'],
    ['backup', 'rehearse', '--accounts', '1e1'],
    ['account', 'set', ANNA, '--quota-messages', ' 1'],
    ['tenant', 'create', 'acme', '--accounts', ''],
    ['tenant', 'set', 'acme']
  ]
  for (const args of faults) {
    const { code, stderr } = await run(args)
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
    assert.doesNotMatch(stderr, /mail address|\bat .*:\d+:\d+/)
  }
})
