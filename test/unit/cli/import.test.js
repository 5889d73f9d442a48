import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAIN, createAccounts, letterlock, scratchFolder } from '../../helpers/process.js'

const ANN = 'ann@example.org'
const PASSWORD = 'a long enough password'

/**
 * @param {import('node:test').TestContext} t
 * @param {string[]} [addresses]
 * @returns {Promise<{ data: string, source: string, run: (...args: string[]) => ReturnType<typeof letterlock> }>}
 *   a data folder with accounts, an empty folder for files, the program with the password on its standard input
 */
async function accountsIn(t, addresses = [ANN]) {
  const folder = scratchFolder(t, 'cli-import')
  const data = join(folder, 'data')
  const source = join(folder, 'source')
  mkdirSync(data)
  mkdirSync(source)
  await createAccounts(data, addresses, PASSWORD)
  const run = (/** @type {string[]} */ ...args) =>
    letterlock([...args, '--data', data, '--password-stdin'], { input: `${PASSWORD}\n` })
  return { data, source, run }
}

/**
 * @param {string} folder
 * @param {number} count
 */
function writeMails(folder, count) {
  for (let n = 0; n < count; n++) {
    writeFileSync(join(folder, `${n}.eml`), `Subject: number ${n}\n\n${'text '.repeat(n % 200)}\n`)
  }
}

test('import tells what it did in plain lines, a second run imports nothing, and check finds all well', async (t) => {
  const { source, run } = await accountsIn(t)
  writeMails(source, 25)
  writeFileSync(join(source, 'notes.txt'), 'no mail')
  const first = await run('import', '--account', ANN, '--mailbox', 'Old/Mail', source)
  assert.deepEqual([first.code, first.stderr], [0, ''])
  assert.match(
    first.stdout,
    /^imported 25, skipped 0 that were there, failed 0, in [\d.]+ s \(\d+\/s\)$/m
  )
  assert.match(first.stdout, /^1 file that is no message was left alone$/m)
  // With one account its name may be left out.
  const second = await run('import', '--mailbox', 'Old/Mail', source)
  assert.equal(second.code, 0)
  assert.match(second.stdout, /^imported 0, skipped 25 /m)
  const check = await run('check', ANN)
  assert.deepEqual([check.code, check.stderr], [0, ''])
  assert.match(check.stdout, /^25 messages, 25 contents, .* read\nok\n$/)
})

test('import reports a bad message with its place, goes on, and ends with exit code 1', async (t) => {
  const { source, run } = await accountsIn(t)
  writeMails(source, 5)
  writeFileSync(join(source, '2b.eml'), '')
  symlinkSync(join(source, 'nowhere'), join(source, '3b.eml'))
  const { code, stdout, stderr } = await run('import', source, join(source, 'no-such-file'))
  assert.equal(code, 1)
  assert.match(stdout, /^imported 5, skipped 0 that were there, failed 3,/m)
  const lines = stderr.trim().split('\n')
  assert.equal(lines.length, 3)
  assert.equal(lines[0], 'letterlock: 2b.eml: The message is empty')
  assert.match(lines[1] ?? '', /^letterlock: 3b\.eml: no such file or directory$/)
  assert.match(lines[2] ?? '', /no-such-file: no such file or directory$/)
})

test('import ends with exit code 2 when nothing could be done', async (t) => {
  const { data, source, run } = await accountsIn(t, [ANN, 'bob@example.org'])
  writeMails(source, 1)
  const wrong = await letterlock(
    ['import', '--data', data, '--password-stdin', '--account', ANN, source],
    {
      input: 'wrong\n'
    }
  )
  assert.equal(wrong.code, 2)
  assert.equal(wrong.stderr, 'letterlock: Authentication failed\n')
  const several = await run('import', source)
  assert.equal(several.code, 2)
  assert.match(several.stderr, /several accounts: name one with --account/)
  const nothing = await run('import', '--account', ANN, join(source, 'nowhere'))
  assert.equal(nothing.code, 2)
  const picture = join(source, 'picture.png')
  writeFileSync(picture, Buffer.from('89504e470d0a1a0a00', 'hex'))
  const noMail = await run('import', '--account', ANN, picture)
  assert.equal(noMail.code, 2)
  assert.match(noMail.stderr, /none of the formats/)
})

test('an import that is killed goes on where it was, and no message is there twice', async (t) => {
  const rounds = process.env['LETTERLOCK_TEST_TORTURE'] ? 50 : 5
  const { data, source, run } = await accountsIn(t)
  const total = 1500
  writeMails(source, total)
  const args = [MAIN, 'import', '--data', data, '--password-stdin', '--account', ANN, source]
  let killed = 0
  for (let round = 0; round < rounds; round++) {
    const child = spawn(process.execPath, args, {
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { ...process.env, LETTERLOCK_AUTH_ARGON2_MEMORY_KIB: String(19 * 1024) }
    })
    child.stdin.end(`${PASSWORD}\n`)
    const closed = once(child, 'close')
    const startedMs = Date.now()
    while (child.exitCode === null && !isWrittenSince(data, startedMs)) await sleep(10)
    await Promise.race([sleep(30 * round), closed])
    if (child.kill('SIGKILL')) killed++
    await closed
  }
  t.diagnostic(`${killed} of ${rounds} runs were killed`)
  const last = await run('import', source)
  assert.equal(last.code, 0, last.stderr)
  assert.match(last.stdout, /skipped [1-9]/)
  const again = await run('import', source)
  assert.match(again.stdout, new RegExp(`^imported 0, skipped ${total} `, 'm'))
  const check = await run('check', ANN)
  assert.equal(check.code, 0, check.stderr)
  assert.match(check.stdout, new RegExp(`^${total} messages`))
})

test('Ctrl-C stores what was read and says so', async (t) => {
  const { data, source, run } = await accountsIn(t)
  writeMails(source, 3000)
  const args = [MAIN, 'import', '--data', data, '--password-stdin', source]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(`${PASSWORD}\n`)
  let output = ''
  child.stderr.on('data', (chunk) => (output += chunk))
  child.stdout.on('data', (chunk) => (output += chunk))
  const closed = once(child, 'close')
  const startedMs = Date.now()
  const isOver = () => child.exitCode !== null
  while (!isOver() && !isWrittenSince(data, startedMs)) await sleep(10)
  child.kill('SIGINT')
  const [code] = await closed
  if (code === 0 || /^imported 3000,/m.test(output))
    return t.skip('the import was faster than the signal')
  assert.equal(code, 130, output)
  assert.match(output, /stopped; the same command goes on where it was/)
  const stored = Number(/imported (\d+)/.exec(output)?.[1])
  const next = await run('import', source)
  assert.match(next.stdout, new RegExp(`^imported ${3000 - stored}, skipped ${stored} `, 'm'))
})

/**
 * @param {string} data
 * @param {number} sinceMs
 * @returns {boolean} whether a mailbox has got pages since
 */
function isWrittenSince(data, sinceMs) {
  return filesBelow(data).some((path) => {
    const stats = path.endsWith('mail.db-wal') ? statSync(path, { throwIfNoEntry: false }) : null
    return stats && stats.size > 50_000 && stats.mtimeMs >= sinceMs
  })
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}

test('no word of imported mail lies in the clear under the data folder', async (t) => {
  const { data, source, run } = await accountsIn(t)
  for (let n = 0; n < 50; n++) {
    const text = `Subject: markersubject${n}\n\nmarkerbody${n} ${'markerfiller '.repeat(40_000)}\n`
    writeFileSync(join(source, `${n}.eml`), text)
  }
  assert.equal((await run('import', '--mailbox', 'markermailbox', source)).code, 0)
  for (const path of filesBelow(data)) {
    assert.ok(!readFileSync(path).includes('marker'), path)
  }
})

test('check finds a damaged page and ends with an exit code other than 0', async (t) => {
  const { data, source, run } = await accountsIn(t)
  for (let n = 0; n < 20; n++) {
    writeFileSync(
      join(source, `${n}.eml`),
      `Subject: ${n}\n\n${String(Math.sqrt(n + 2)).repeat(5000)}\n`
    )
  }
  assert.equal((await run('import', source)).code, 0)
  assert.equal((await run('check', ANN)).code, 0)
  const file = filesBelow(data).find((path) => path.endsWith('mail.db')) ?? ''
  const bytes = readFileSync(file)
  const middle = Math.floor(bytes.length / 2)
  bytes[middle] = /** @type {number} */ (bytes[middle]) ^ 1
  writeFileSync(file, bytes)
  const { code, stdout, stderr } = await run('check', ANN)
  assert.notEqual(code, 0, stdout)
  assert.match(stderr, /damaged|malformed|not a database|NOTADB|CORRUPT|Page|content/i)
})

test('check of an unknown account and with a wrong password gives the same answer', async (t) => {
  const { data } = await accountsIn(t)
  const answers = []
  for (const address of [ANN, 'nobody@example.org']) {
    const args = ['check', address, '--data', data, '--password-stdin']
    answers.push(await letterlock(args, { input: 'wrong\n' }))
  }
  assert.deepEqual(answers[0], answers[1])
  assert.equal(answers[0]?.code, 2)
})

const hasScript = spawnSync('script', ['--version']).status === 0

test(
  'on a terminal import shows a bar with rate and time left',
  { skip: hasScript ? false : 'needs script(1)' },
  async (t) => {
    const { data, source } = await accountsIn(t)
    writeMails(source, 400)
    const command = `${process.execPath} ${MAIN} import --data ${data} --password-stdin ${source} < ${join(source, 'password')}`
    writeFileSync(join(source, 'password'), `${PASSWORD}\n`)
    const { stdout, status } = spawnSync('script', ['-qec', command, '/dev/null'], {
      encoding: 'utf8'
    })
    assert.equal(status, 0, stdout)
    assert.match(
      stdout,
      /source .*\d+ % \| \d+ messages \| \d+\/s \| (some time|[\d.]+ (s|min|h)) left/
    )
    assert.match(stdout, /100 % \| 400 messages/)
    assert.match(stdout, /imported 400/)
  }
)

for (const command of ['import', 'check']) {
  test(`${command} --help shows an example and the exit codes`, async () => {
    const { code, stdout } = await letterlock([command, '--help'])
    assert.equal(code, 0)
    assert.match(stdout, /Examples?:\n {2}letterlock /)
    assert.match(stdout, /Exit code: 0 /)
    assert.match(stdout, /--password-stdin/)
  })
}
