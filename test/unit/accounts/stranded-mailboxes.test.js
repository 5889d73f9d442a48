import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { letterlock, scratchFolder } from '../../helpers/process.js'

const ANNA = 'anna@example.org'
const PASSWORD = { input: 'secret\n' }

/**
 * As where mail was spread over disks.
 *
 * @param {string} data
 */
function moveAway(data) {
  renameSync(join(data, 'mail', 'example.org'), `${data}-disk`)
  symlinkSync(`${data}-disk`, join(data, 'mail', 'example.org'))
}

for (const [what, lose] of /** @type {[string, (path: string, data: string) => void][]} */ ([
  ['without their directory', (path) => rmSync(path)],
  ['whose directory is an empty file', (path) => truncateSync(path)],
  [
    'on another disk, without their directory,',
    (path, data) => {
      moveAway(data)
      rmSync(path)
    }
  ]
]))
  test(`mailboxes ${what} keep a server from beginning anew`, async (t) => {
    const data = join(scratchFolder(t, 'stranded'), 'data')
    const path = join(data, 'directory.db')
    const ports = ['imap', 'imaps', 'lmtp', 'admin'].flatMap((name) => [`--${name}`, '127.0.0.1:0'])
    await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
    lose(path, data)
    const left = statSync(path, { throwIfNoEntry: false })?.size
    const commands = [
      ['serve', ...ports],
      ['account', 'create', 'ben@example.org', '--password-stdin']
    ]
    for (const command of commands) {
      const { code, stderr } = await letterlock([...command, '--data', data], PASSWORD)
      assert.equal(code, 1, stderr)
      assert.match(stderr, /^letterlock: The directory of these mailboxes is missing$/m)
      assert.match(
        stderr,
        /no directory\.db[^]*keep mail\/[^]*letterlock backup restore --host into another/
      )
      assert.equal(statSync(path, { throwIfNoEntry: false })?.size, left)
    }
    for (const command of [
      ['account', 'list'],
      ['maintain', '--status']
    ]) {
      const { code, stderr } = await letterlock([...command, '--data', data])
      assert.equal(code, 1)
      assert.match(stderr, /^letterlock: The directory of these mailboxes is missing/)
    }
    const examined = await letterlock(['doctor', '--data', data])
    assert.equal(examined.code, 1)
    assert.match(
      examined.stdout,
      /^fail {2}data: The server would not start: The directory of these mailboxes is missing$/m
    )
  })

test('what lies in mail/ besides mailboxes is no reason not to begin', async (t) => {
  const data = join(scratchFolder(t, 'left'), 'data')
  mkdirSync(join(data, 'mail', 'example.org', 'left'), { recursive: true })
  writeFileSync(join(data, 'mail', 'note.txt'), 'x')
  const made = await letterlock(
    ['account', 'create', ANNA, '--password-stdin', '--data', data],
    PASSWORD
  )
  assert.equal(made.code, 0, made.stderr)
})

test('a mailbox that cannot be looked at keeps a server from beginning anew as well', async (t) => {
  const data = join(scratchFolder(t, 'unsure'), 'data')
  const folder = join(data, 'mail', 'example.org', 'anna')
  mkdirSync(folder, { recursive: true })
  // A link to itself is what the system answers neither yes nor no about.
  symlinkSync(join(folder, 'mail.db'), join(folder, 'mail.db'))
  const create = ['account', 'create', ANNA, '--password-stdin', '--data', data]
  const { code, stderr } = await letterlock(create, PASSWORD)
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^letterlock: .*mail\.db cannot be looked at: a symbolic link there leads back to itself \(ELOOP\)$/m
  )
  assert.doesNotMatch(stderr, /unexpected error/)
  assert.equal(existsSync(join(data, 'directory.db')), false)
})

/**
 * @param {string} data
 * @returns {Promise<string[]>} what the doctor says of the mailboxes
 */
async function mailboxFindings(data) {
  const { stdout, stderr } = await letterlock(['doctor', '--json', '--data', data])
  assert.equal(stderr, '')
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ name }) => name === 'mailboxes')
    .map(({ status, text, advice = '' }) => `${status} ${text} → ${advice}`)
}

test('the doctor names a link that leads back to itself, and looks at what lies beside it', async (t) => {
  const data = join(scratchFolder(t, 'loop'), 'data')
  const create = ['account', 'create', ANNA, '--password-stdin', '--data', data]
  await letterlock(create, PASSWORD)
  const domain = join(data, 'mail', 'example.org')
  const [id = ''] = readdirSync(domain)
  const stranded = join(domain, 'other')
  mkdirSync(stranded)
  writeFileSync(join(stranded, 'mail.db'), '')
  for (const at of [
    join(data, 'mail', 'loop'),
    join(domain, 'loop'),
    join(stranded, 'mail.db'),
    join(domain, id, 'mail.db'),
    join(domain, id)
  ]) {
    const wasThere = existsSync(at)
    if (wasThere) renameSync(at, join(data, 'kept'))
    symlinkSync(at, at)
    const found = (await mailboxFindings(data)).join('\n')
    const escaped = at.replaceAll('.', '\\.')
    assert.match(
      found,
      new RegExp(`^fail ${escaped} cannot be looked at: a symbolic link .*ELOOP.* → `, 'm')
    )
    assert.doesNotMatch(found, /has no mailbox/)
    const isStranded = !at.startsWith(stranded)
    assert.equal(/^fail 1 mailbox in mail\/ is no account’s/m.test(found), isStranded)
    rmSync(at)
    if (wasThere) renameSync(join(data, 'kept'), at)
  }
})

test('the doctor names mailboxes that no account has, as when an older directory came back, and accounts without one', async (t) => {
  const data = join(scratchFolder(t, 'older'), 'data')
  const run = (/** @type {string[]} */ args, input = PASSWORD) =>
    letterlock([...args, '--data', data], input)
  const create = (/** @type {string} */ address) =>
    run(['account', 'create', address, '--password-stdin'])
  const examine = () => mailboxFindings(data)
  const path = join(data, 'directory.db')
  await create(ANNA)
  assert.match((await examine()).join(), /^ok Each is an account’s/)
  const older = readFileSync(path)
  assert.ok(!existsSync(`${path}-wal`))
  for (const name of ['ben', 'cora']) await create(`${name}@example.org`)
  assert.match((await examine()).join(), /^ok /)
  const folders = readdirSync(join(data, 'mail', 'example.org'))
  // A restore that is under way, and something that is no mailbox.
  mkdirSync(join(data, 'mail', 'example.org', 'new.part'))
  writeFileSync(join(data, 'mail', 'example.org', 'new.part', 'mail.db'), '')
  mkdirSync(join(data, 'mail', 'example.org', 'empty'))
  const newer = readFileSync(path)
  writeFileSync(path, older)
  const stranded = await examine()
  assert.equal(stranded.length, 1)
  const [finding = ''] = stranded
  assert.match(
    finding,
    /^fail 2 mailboxes in mail\/ are no account’s: .* → directory\.db may be older/
  )
  assert.ok(folders.some((folder) => finding.includes(folder)))
  writeFileSync(path, newer)
  assert.match((await examine()).join(), /^ok /)
  rmSync(join(data, 'mail', 'example.org', folders[0] ?? ''), { recursive: true })
  assert.match(
    (await examine()).join(),
    /^fail 1 account has no mailbox: .*mail\.db → Put the folder back/
  )
  const { code } = await run(['doctor'])
  assert.equal(code, 1)
})
