import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tamper } from '../../helpers/accounts.js'
import { MAIN, createAccounts, letterlock, scratchFolder } from '../../helpers/process.js'

const ANNA = 'anna@example.org'
const CODE = /llrec(-[0-9a-z]{7}){4}/

/** @param {import('node:test').TestContext} t */
function setUp(t) {
  const data = join(scratchFolder(t, 'cli'), 'data')
  const run = async (/** @type {string[]} */ args, input = '') => {
    const result = await letterlock([...args, '--data', data], { input })
    return { ...result, lines: result.stdout.trimEnd().split('\n') }
  }
  const create = (address = ANNA, password = 'old secret') =>
    run(['account', 'create', address, '--password-stdin'], `${password}\n`)
  const given = () => createAccounts(data, [ANNA], 'old secret')
  return { data, run, create, given }
}

test('create makes an account and shows its recovery code, on standard output alone', async (t) => {
  const { data, run, create } = setUp(t)
  const { code, stdout, stderr } = await create()
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^created anna@example\.org\n/)
  assert.match(stdout, CODE)
  assert.equal(existsSync(join(data, 'pepper')), true)
  const again = await create('ANNA@example.org')
  assert.equal(again.code, 1)
  assert.match(again.stderr, /exists already/)
  const { lines } = await run(['account', 'list'])
  assert.deepEqual(lines, ['anna@example.org\t0 messages, 0 B'])
})

test('accounts are listed by a domain as it is written', async (t) => {
  const { run, create, given } = setUp(t)
  await given()
  const made = await create('anna@bücher.example')
  assert.equal(made.code, 0, made.stderr)
  const listed = (/** @type {string} */ domain) => run(['account', 'list', '--domain', domain])
  for (const domain of ['bücher.example', 'BÜCHER.example.', 'xn--bcher-kva.example'])
    assert.match((await listed(domain)).stdout, /^anna@xn--bcher-kva\.example\t[^\n]*\n$/)
  const refused = await listed('no domain')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /“no domain” is no domain/)
  await run(['tenant', 'create', 'acme'])
  const assigned = await run(['tenant', 'assign', 'acme', 'bücher.example'])
  assert.equal(assigned.stdout, 'xn--bcher-kva.example belongs to acme\n')
  const audit = await run(['audit', 'export', '--action', 'domain-assign'])
  assert.equal(JSON.parse(audit.stdout).detail.domain, 'xn--bcher-kva.example')
})

test('an account shows as text and as JSON, without any key', async (t) => {
  const { run, given } = setUp(t)
  await given()
  const shown = await run(['account', 'show', 'anna', '--default-domain', 'example.org'])
  assert.match(shown.stdout, /^address {4}anna@example\.org$/m)
  assert.match(shown.stdout, /password, read-write, last used never/)
  const json = JSON.parse((await run(['account', 'show', ANNA, '--json'])).stdout)
  assert.equal(json.address, ANNA)
  assert.deepEqual(json.credentials.map((/** @type {any} */ { kind }) => kind).sort(), [
    'password',
    'recovery'
  ])
  const keys = /salt|commitment|wrapped|lookup|sealPublicKey|age1/
  // The folder's name is of random letters.
  assert.doesNotMatch(JSON.stringify({ ...json, folder: '' }), keys)
  const listed = await run(['account', 'list', '--json'])
  assert.equal(JSON.parse(listed.stdout).address, ANNA)
  assert.doesNotMatch(JSON.stringify({ ...JSON.parse(listed.stdout), folder: '' }), keys)
})

test('passwords never come from the command line, and without a terminal the command says so', async (t) => {
  const { run } = setUp(t)
  const commands = [
    ['account', 'create', ANNA],
    ['account', 'create', ANNA, '--password', 'secret'],
    ['account', 'create', ANNA, 'secret', '--password-stdin'],
    ['account', 'create'],
    ['account', 'create', ANNA, '--batch', 'file'],
    ['account', 'create', ANNA, '--password-stdin', '--quota', 'much']
  ]
  for (const { code, stdout } of await Promise.all(commands.map((args) => run(args)))) {
    assert.notEqual(code, 0)
    assert.equal(stdout, '')
  }
  const unasked = await run(['account', 'create', ANNA])
  assert.equal(unasked.code, 2)
  assert.match(unasked.stderr, /no terminal to ask on: use --password-stdin/)
  const nothing = await run(['account', 'create', ANNA, '--password-stdin'])
  assert.equal(nothing.code, 2)
  assert.match(nothing.stderr, /no line for: Password/)
})

test('a command ends although its standard input stays open', async (t) => {
  const { data } = setUp(t)
  const args = [MAIN, 'account', 'create', ANNA, '--password-stdin', '--data', data]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] })
  child.stdin.write('old secret\n')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})

test('passwd takes the old password or the recovery code, then the new password', async (t) => {
  const { run, create } = setUp(t)
  const recoveryCode = String(CODE.exec((await create()).stdout)?.[0])
  const passwd = (/** @type {string} */ input) =>
    run(['account', 'passwd', ANNA, '--password-stdin'], input)
  const wrong = await passwd('wrong\nnew secret\n')
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /Authentication failed/)
  assert.equal((await passwd('old secret\n')).code, 2)
  const changed = await passwd('old secret\r\nnew secret\r\n')
  assert.equal(changed.code, 0)
  assert.doesNotMatch(changed.stdout, CODE)
  assert.equal((await passwd('old secret\nx\n')).code, 1)
  const recovered = await passwd(`${recoveryCode}\nthird secret\n`)
  assert.equal(recovered.code, 0)
  assert.match(recovered.stdout, CODE)
  assert.equal((await passwd(`${recoveryCode}\nx\n`)).code, 1)
  assert.equal((await passwd('third secret\nfourth secret\n')).code, 0)
})

test('passwd --lose-mail says what it destroys and asks twice', async (t) => {
  const { data, run, given } = setUp(t)
  await given()
  const [spool = ''] = globSync(join(data, 'mail', '*', '*', 'spool'))
  writeFileSync(join(spool, `${'0'.repeat(32)}.sealed`), 'sealed')
  const lose = (/** @type {string} */ input, /** @type {string[]} */ ...more) =>
    run(['account', 'passwd', ANNA, '--lose-mail', '--password-stdin', ...more], input)
  for (const input of ['new secret\n', `${ANNA}\nnew secret\n`, `${ANNA}\nyes\nnew secret\n`]) {
    const refused = await lose(input)
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /destroys, for good: all mail of anna@example\.org \(0 messages, and 1 that waits for the next login\)/
    )
    assert.match(refused.stderr, /Nothing was changed/)
  }
  const unchanged = JSON.parse((await run(['account', 'show', ANNA, '--json'])).stdout)
  assert.equal(unchanged.keyEpoch, 1)
  const lost = await lose(`${ANNA}\nlose all mail\nnew secret\n`)
  assert.equal(lost.code, 0)
  assert.match(lost.stdout, CODE)
  const scripted = await lose('third secret\n', '--yes')
  assert.equal(scripted.code, 0)
  const now = JSON.parse((await run(['account', 'show', ANNA, '--json'])).stdout)
  assert.equal(now.keyEpoch, 3)
  assert.equal(existsSync(unchanged.folder), false)
  assert.equal(existsSync(now.folder), true)
})

test('rekey makes a new master key and names the app passwords that had to go', async (t) => {
  const { run, given } = setUp(t)
  await given()
  const input = 'old secret\n'
  const made = await run(
    ['app-password', 'create', ANNA, '--label', 'phone', '--password-stdin'],
    input
  )
  assert.match(made.stdout, /^llapp(-[0-9a-z]{7}){4}\n$/)
  const rekeyed = await run(['account', 'rekey', ANNA, '--password-stdin'], input)
  assert.equal(rekeyed.code, 0, rekeyed.stderr)
  assert.match(rekeyed.stdout, CODE)
  assert.match(rekeyed.stdout, /revoked app password [0-9a-f]{16} phone/)
  assert.equal((await run(['app-password', 'list', ANNA])).stdout, '')
  assert.equal((await run(['account', 'rekey', ANNA, '--password-stdin'], 'wrong\n')).code, 1)
})

test('a rekey that only finishes the one before says so', async (t) => {
  const { data, run, given } = setUp(t)
  await given()
  const rekey = () => run(['account', 'rekey', ANNA, '--password-stdin'], 'old secret\n')
  // As a crash would have it, just before the end.
  tamper(
    data,
    `CREATE TRIGGER crash BEFORE DELETE ON rekeys BEGIN SELECT RAISE(ABORT, 'crash'); END`
  )
  assert.notEqual((await rekey()).code, 0)
  tamper(data, 'DROP TRIGGER crash')
  const finished = await rekey()
  assert.equal(finished.code, 1)
  assert.match(finished.stderr, /^ {2}an interrupted rekey was finished first$/m)
  assert.doesNotMatch(finished.stderr, /is open/)
  assert.equal((await rekey()).code, 0)
})

test('delete asks for the address, and destroys with --yes alone', async (t) => {
  const { run, create, given } = setUp(t)
  await given()
  const folder = JSON.parse((await run(['account', 'show', ANNA, '--json'])).stdout).folder
  const unasked = await run(['account', 'delete', ANNA])
  assert.equal(unasked.code, 2)
  assert.match(unasked.stderr, /no terminal to ask on: use --yes/)
  assert.equal(existsSync(folder), true)
  const deleted = await run(['account', 'delete', ANNA, '--yes'])
  assert.equal(deleted.code, 0, deleted.stderr)
  assert.equal(existsSync(folder), false)
  assert.equal((await run(['account', 'delete', ANNA, '--yes'])).code, 1)
  assert.equal((await run(['account', 'show', ANNA])).code, 1)
  assert.equal((await create()).code, 0)
})

test('what destroys without asking takes an account’s own address alone: no alias, and no detail', async (t) => {
  const { data, run } = setUp(t)
  const detailed = 'anna+2024@example.org'
  await createAccounts(data, [ANNA, detailed], 'old secret')
  await run(['account', 'alias', ANNA, '--add', 'info@example.org'])
  const remove = (/** @type {string} */ address) => run(['account', 'delete', address, '--yes'])
  assert.equal((await remove(detailed)).code, 0)
  const lose = (/** @type {string} */ address) =>
    run(
      ['account', 'passwd', address, '--lose-mail', '--yes', '--password-stdin'],
      'another secret\n'
    )
  // Given again, as by a script that was interrupted.
  for (const address of [detailed, 'info@example.org'])
    for (const refused of [await remove(address), await lose(address)]) {
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /is another name of anna@example\.org: give that one$/m)
    }
  const { keyEpoch } = JSON.parse((await run(['account', 'show', ANNA, '--json'])).stdout)
  assert.equal(keyEpoch, 1)
  assert.equal((await remove('Anna@Example.org')).code, 0)
})

test('app passwords are made with scope and expiry, listed and revoked', async (t) => {
  const { run, given } = setUp(t)
  await given()
  const make = (/** @type {string[]} */ ...options) =>
    run(['app-password', 'create', ANNA, '--password-stdin', ...options], 'old secret\n')
  await make('--label', 'phone', '--read-only', '--expires', '90d')
  await make('--label', 'laptop', '--expires', '2099-12-31')
  const expiries = ['0d', '2001-01-01', 'soon', '2099-13-01', '2099-02-29', '2099-1-1']
  const refused = await Promise.all(expiries.map((expiry) => make('--expires', expiry)))
  for (const { code } of refused) assert.equal(code, 2)
  const rows = (await run(['app-password', 'list', ANNA, '--json'])).lines.map((line) =>
    JSON.parse(line)
  )
  assert.deepEqual(
    rows.map(({ label, scope }) => [label, scope]),
    [
      ['phone', 'read-only'],
      ['laptop', 'read-write']
    ]
  )
  assert.equal(rows[1].expiresAtMs, Date.UTC(2100, 0, 1))
  const listed = await run(['app-password', 'list', ANNA])
  assert.match(listed.stdout, /laptop\tread-write\tlast used never\texpires 2100-01-01T00:00:00Z/)
  const revoke = () => run(['app-password', 'revoke', ANNA, rows[0].id])
  assert.match((await revoke()).stdout, /^revoked [0-9a-f]{16} phone\n$/)
  assert.equal((await revoke()).code, 1)
})

test('a label has no control characters, and one of before shows none', async (t) => {
  const { data, run, given } = setUp(t)
  await given()
  const secret = 'old secret\n'
  const make = (/** @type {string} */ label) =>
    run(['app-password', 'create', ANNA, '--password-stdin', '--label', label], secret)
  const refused = [
    await make('a\tb'),
    await make('a\u009bb'),
    await run(['token', 'create', '--label', 'a\u001b[2Jb']),
    await run(['tenant', 'create', 'acme', '--label', 'a\nb'])
  ]
  for (const { code, stderr } of refused) {
    assert.equal(code, 1)
    assert.match(stderr, /control characters/)
  }
  assert.equal((await make('my phone')).code, 0)
  assert.equal((await run(['token', 'create', '--label', 'x'])).code, 0)
  const label = 'phone\u009b2J\u001b[31m\nforged\tline'
  for (const table of ['credentials', 'api_tokens'])
    tamper(data, `UPDATE ${table} SET label = ? WHERE label <> ''`, [label])
  const id = JSON.parse((await run(['app-password', 'list', ANNA, '--json'])).stdout).id
  const shown = [
    await run(['app-password', 'list', ANNA]),
    await run(['account', 'show', ANNA]),
    await run(['token', 'list']),
    await run(['app-password', 'revoke', ANNA, id])
  ]
  for (const { stdout } of shown) assert.match(stdout, /phone\?2J\?\[31m\?forged\?line/)
  await make('my phone')
  tamper(data, 'UPDATE credentials SET label = ? WHERE label <> ?', [label, ''])
  const asJson = [
    await run(['app-password', 'list', ANNA, '--json']),
    await run(['account', 'show', ANNA, '--json'])
  ]
  for (const { stdout } of asJson) {
    assert.doesNotMatch(stdout.trimEnd(), /\p{Cc}/u)
    assert.ok(JSON.stringify(JSON.parse(stdout)).includes(JSON.stringify(label)))
  }
  assert.match(
    (await run(['account', 'rekey', ANNA, '--password-stdin'], secret)).stdout,
    /phone\?2J/
  )
})

test('a batch makes an account of each line, reports the others, and goes on', async (t) => {
  const { data, run } = setUp(t)
  const file = join(data, '..', 'accounts.tsv')
  writeFileSync(
    file,
    [
      'anna@example.org\tx',
      'no tab here',
      '',
      'not an address\tsecret',
      'bert@example.org\tpass\tword with a tab',
      'anna@example.org\tsecond time',
      'empty@example.org\t',
      'carl@example.org\tpässwörd\r'
    ].join('\n')
  )
  const { code, lines, stderr } = await run(['account', 'create', '--batch', file])
  assert.equal(code, 1)
  const codes = lines.sort().map((line) => line.split('\t'))
  assert.deepEqual(
    codes.map(([address]) => address),
    ['anna@example.org', 'bert@example.org', 'carl@example.org']
  )
  for (const [, recoveryCode] of codes) assert.match(String(recoveryCode), CODE)
  // Of the two lines for anna the one that came first may be made later: either is reported.
  const reported = [...stderr.matchAll(/^line (\d+): /gm)].map(([, line]) => Number(line))
  assert.equal(reported.length, 4)
  for (const line of [2, 4, 7]) assert.ok(reported.includes(line))
  assert.match(stderr, /3 created, 4 failed/)
  const change = (/** @type {string} */ address, /** @type {string} */ password) =>
    run(['account', 'passwd', address, '--password-stdin'], `${password}\nnew\n`)
  assert.equal((await change('bert@example.org', 'pass\tword with a tab')).code, 0)
  assert.equal((await change('carl@example.org', 'pässwörd')).code, 0)
})

test('a batch whose input is bad makes the accounts before that, and shows their codes', async (t) => {
  const { data, run } = setUp(t)
  const file = join(data, '..', 'accounts.tsv')
  writeFileSync(file, `anna@example.org\tx\nbert@example.org\ty\n${'z'.repeat(9000)}\n`)
  const { code, lines, stderr } = await run(['account', 'create', '--batch', file])
  assert.equal(code, 2)
  assert.match(stderr, /^letterlock: A line of the input has over 8192 bytes\n$/m)
  assert.deepEqual(lines.map((line) => line.split('\t')[0]).sort(), [
    'anna@example.org',
    'bert@example.org'
  ])
  for (const missing of [join(data, 'nowhere'), data]) {
    const refused = await run(['account', 'create', '--batch', missing])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^letterlock: \S+ (cannot be read \(ENOENT\)|is a folder)\n$/)
  }
})

test('two hundred accounts in a batch from standard input, as a script makes them', async (t) => {
  const { run } = setUp(t)
  const input = Array.from({ length: 200 }, (_, index) => `u${index}@example.org\tp${index}\n`)
  const { code, lines } = await run(['account', 'create', '--batch', '-'], input.join(''))
  assert.equal(code, 0)
  assert.equal(lines.length, 200)
  assert.equal(new Set(lines.map((line) => line.split('\t')[1])).size, 200)
  assert.equal((await run(['account', 'list'])).lines.length, 200)
})

test('a missing pepper stops every command once credentials need it', async (t) => {
  const { data, run, given } = setUp(t)
  await given()
  rmSync(join(data, 'pepper'))
  const { code, stderr } = await run(['account', 'list'])
  assert.equal(code, 1)
  assert.match(stderr, /pepper/)
  assert.equal(existsSync(join(data, 'pepper')), false)
})

test('every command explains itself with an example', async (t) => {
  const { run } = setUp(t)
  const commands = [
    ...['create', 'list', 'show', 'delete', 'passwd', 'rekey'].map((name) => ['account', name]),
    ...['create', 'list', 'revoke'].map((name) => ['app-password', name])
  ]
  const check = async (/** @type {string[]} */ command) => {
    const { code, stdout } = await run([...command, '--help'])
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`Example:\\n {2}letterlock ${command.join(' ')} `))
  }
  await Promise.all(commands.map(check))
})
