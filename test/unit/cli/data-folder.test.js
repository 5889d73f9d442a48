import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../../config/load.js'
import { startServer } from '../../../src/compose.js'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { letterlock, scratchFolder, startServerProcess } from '../../helpers/process.js'
import { WireClient } from '../../helpers/wire-client.js'

const ANNA = 'anna@example.org'
const PASSWORD = { input: 'secret\n' }
/** What a service user may be: a number that no list of users has. */
const SERVICE = 64_321
const isRoot = process.getuid?.() === 0
const needsRoot = isRoot ? false : 'only root can become somebody else'

/**
 * @param {import('node:test').TestContext} t
 * @returns {string} a data folder of the service user's
 */
function serviceFolder(t) {
  const folder = scratchFolder(t, 'owner')
  chmodSync(folder, 0o711)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, SERVICE, SERVICE)
  return data
}

/**
 * @param {string} data
 * @returns {string[]} what is not the service user's
 */
const ofOthers = (data) =>
  ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })].filter((name) => {
    const { uid, gid } = statSync(join(data, name))
    return uid !== SERVICE || gid !== SERVICE
  })

test(
  'commands and the server that root starts leave only files of the data folder’s owner',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    const run = (/** @type {string[]} */ ...args) =>
      letterlock([...args, '--data', data], { input: 'secret\nsecret\n' })
    const commands = [
      ['account', 'create', ANNA, '--password-stdin'],
      ['repair', ANNA, '--password-stdin'],
      ['maintain', '--compact', ANNA, '--password-stdin'],
      ['backup', 'init'],
      ['backup', 'run'],
      ['backup', 'restore', ANNA, '--yes'],
      ['backup', 'nightly'],
      ['check', ANNA, '--password-stdin']
    ]
    for (const command of commands) {
      const { code, stderr } = await run(...command)
      assert.equal(code, 0, `${command.join(' ')}: ${stderr}`)
      assert.deepEqual(ofOthers(data), [], command.join(' '))
    }
    const server = await startServerProcess(t, { data })
    const client = await WireClient.connect(server.ports.imap)
    await client.login(ANNA, 'secret')
    assert.match(await client.command('SELECT INBOX'), /OK/)
    assert.deepEqual(ofOthers(data), [])
    client.destroy()
    await server.stop()
  }
)

test(
  'a host that root restores belongs to the owner of the empty folder',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
    const { stdout } = await letterlock(['backup', 'init', '--data', data])
    const recoveryKey = String(/recovery key: (\S+)/.exec(stdout)?.[1])
    assert.equal((await letterlock(['backup', 'run', '--data', data])).code, 0)
    for (const name of readdirSync(data))
      if (name !== 'backup') rmSync(join(data, name), { recursive: true })
    const { code, stderr } = await letterlock(
      ['backup', 'restore', '--host', '--password-stdin', '--data', data],
      { input: `${recoveryKey}\n` }
    )
    assert.equal(code, 0, stderr)
    assert.deepEqual(ofOthers(data), [])
  }
)

test(
  'root exports to where the data folder’s owner may write, and is told who writes',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
    const open = join(data, '..', 'open')
    mkdirSync(open)
    chmodSync(open, 0o777)
    const closed = join(data, '..', 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const args = ['export', '--account', ANNA, '--password-stdin', '--data', data]
    for (const where of [['mail'], ['--file', 'mail.letterlock']]) {
      const path = String(where.pop())
      const { code, stderr } = await letterlock([...args, ...where, join(open, path)], PASSWORD)
      assert.equal(code, 0, stderr)
      assert.equal(statSync(join(open, path)).uid, SERVICE)
      const refused = await letterlock([...args, ...where, join(closed, path)], PASSWORD)
      assert.equal(refused.code, 2)
      assert.match(refused.stderr, /running as the owner of .*, user 64321\n.*\(EACCES\)/)
      assert.deepEqual(readdirSync(closed), [])
    }
  }
)

test(
  'root that may not become the owner says so and opens nothing',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    const { code, stderr } = await letterlock(
      ['account', 'create', ANNA, '--password-stdin', '--data', data],
      { ...PASSWORD, wrapper: ['setpriv', '--bounding-set', '-setuid,-setgid'] }
    )
    assert.equal(code, 1)
    assert.match(stderr, /data belongs to user 64321, whom this process may not become \(EPERM\)/)
    assert.deepEqual(readdirSync(data), [])
  }
)

test(
  'doctor of root names files of mailboxes that are not the data folder’s owner’s',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    const doctor = async () => (await letterlock(['doctor', '--data', data])).stdout
    await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
    assert.match(await doctor(), /^ok {4}permissions: /m)
    const name = readdirSync(data, { recursive: true, encoding: 'utf8' }).find((path) =>
      path.endsWith('mail.db')
    )
    const file = join(data, String(name))
    chownSync(file, 0, 0)
    const text = await doctor()
    assert.ok(
      text.includes(
        `fail  permissions: ${file} belongs to user 0, the data folder to user 64321\n      → The server cannot use what is not its own: chown -R 64321 ${data}\n`
      ),
      text
    )
    chownSync(file, SERVICE, SERVICE)
    chownSync(join(file, '..'), 0, 0)
    assert.match(await doctor(), /^fail {2}permissions: \S+\/mail\/\S+ belongs to user 0/m)
  }
)

test(
  'doctor of root looks at the certificate as the server does, which may read a key of root’s by its group',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
    const folder = join(data, '..', 'live')
    mkdirSync(folder)
    chmodSync(folder, 0o755)
    await loadCertificate({ folder, certificateFile: '', keyFile: '', clock: systemClock })
    const key = join(folder, 'key.pem')
    const environment = {
      LETTERLOCK_TLS_CERTIFICATE: join(folder, 'certificate.pem'),
      LETTERLOCK_TLS_KEY: key
    }
    const doctor = async () =>
      (await letterlock(['doctor', '--data', data], { environment })).stdout
    assert.match(await doctor(), /^fail {2}certificate: It cannot be read \(EACCES\)$/m)
    chownSync(key, 0, SERVICE)
    chmodSync(key, 0o640)
    const readable = await doctor()
    assert.match(readable, /^ok {4}certificate: For DNS:localhost/m)
    assert.match(readable, /^ok {4}permissions: /m)
    chmodSync(key, 0o644)
    assert.ok(
      (await doctor()).includes(
        `fail  permissions: ${key} is open to others (644)\n      → chmod g-wx,o= ${key}\n`
      )
    )
  }
)

test(
  'doctor of the server’s user knows a server below port 1024 that has the capability for it',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    const settings = {
      data: join(scratchFolder(t, 'low'), 'data'),
      // An address of its own: the port is the machine's.
      'imap.listen': '127.77.1.1:143',
      'imaps.listen': 'off',
      'lmtp.listen': 'off',
      'admin.listen': 'off',
      'log.level': 'silent'
    }
    const server = await startServer({
      config: loadConfig({ settings, environment: {} }),
      makeFirstAccount: false,
      nightlyCommand: null
    })
    t.after(() => server.close())
    const wrapper = ['setpriv', '--reuid', `${SERVICE}`, '--regid', `${SERVICE}`, '--clear-groups']
    const environment = {
      LETTERLOCK_IMAP_LISTEN: '127.77.1.1:143',
      LETTERLOCK_IMAPS_LISTEN: '127.77.1.1:993'
    }
    const { stdout } = await letterlock(['doctor', '--data', data], { wrapper, environment })
    assert.match(stdout, /^ok {4}port imap: 127\.77\.1\.1:143: Letterlock answers there$/m)
    assert.match(stdout, /^fail {2}port imaps: 127\.77\.1\.1:993 may not be used by this user$/m)
  }
)

test('an import that root starts says as whom it reads', { skip: needsRoot }, async (t) => {
  const data = serviceFolder(t)
  const file = join(scratchFolder(t, 'mail'), 'message.eml')
  writeFileSync(file, 'Subject: x\r\n\r\nx\r\n')
  await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
  const { code, stderr } = await letterlock(
    ['import', '--password-stdin', '--data', data, file],
    PASSWORD
  )
  assert.equal(code, 2)
  assert.match(
    stderr,
    /^running as the owner of \S+\/data, user 64321\n[^]*message\.eml: permission denied$/m
  )
  // Of a Maildir it is the folder in it that is named.
  const maildir = scratchFolder(t, 'maildir')
  for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(maildir, part))
  chmodSync(maildir, 0o755)
  chmodSync(join(maildir, 'new'), 0o700)
  const refused = await letterlock(
    ['import', '--password-stdin', '--data', data, maildir],
    PASSWORD
  )
  assert.ok(
    refused.stderr.endsWith(`letterlock: ${maildir}: ${maildir}/new: permission denied\n`),
    refused.stderr
  )
})

test('another user is told whose the data folder is', { skip: needsRoot }, async (t) => {
  const data = serviceFolder(t)
  await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
  const wrapper = ['setpriv', '--reuid', '64322', '--regid', '64322', '--clear-groups']
  const listed = await letterlock(['account', 'list', '--data', data], { wrapper })
  assert.equal(listed.code, 1)
  assert.match(
    listed.stderr,
    /^letterlock: \S+\/data\/directory\.db cannot be opened \(EACCES\): \S+\/data belongs to user 64321, and this runs as user 64322\n$/
  )
  const { code, stdout } = await letterlock(['doctor', '--data', data], { wrapper })
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^fail {2}permissions: \S+ belongs to user 64321, and this runs as user 64322$/m
  )
  assert.match(stdout, /^fail {2}data: \S+ cannot be looked at \(EACCES\)$/m)
  chownSync(join(data, 'directory.db'), 0, 0)
  const refused = await letterlock(['account', 'list', '--data', data])
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /^letterlock: \S+\/directory\.db cannot be opened \(EACCES\): it belongs to user 0, and this runs as user 64321\n$/
  )
  chownSync(join(data, 'directory.db'), 64321, 64321)
  chmodSync(join(data, 'directory.db'), 0)
  const closed = await letterlock(['account', 'list', '--data', data])
  assert.match(
    closed.stderr,
    /^letterlock: \S+\/directory\.db cannot be opened \(EACCES\): \S+ is this user’s, with mode 0\n$/
  )
  const seen = await letterlock(['doctor', '--data', data])
  assert.match(seen.stdout, /^fail {2}permissions: \S+\/directory\.db has mode 0/m)
  chmodSync(join(data, 'directory.db'), 0o600)
  mkdirSync(join(data, 'run'), { recursive: true })
  chownSync(join(data, 'run'), 64321, 64321)
  chmodSync(join(data, 'run'), 0)
  const ports = ['imap', 'imaps', 'lmtp', 'admin'].flatMap((name) => [`--${name}`, '127.0.0.1:0'])
  const served = await letterlock(['serve', ...ports, '--data', data])
  assert.equal(served.code, 1)
  assert.match(
    served.stderr,
    /^letterlock: \S+\/run\/\S+ cannot be opened \(EACCES\): \S+\/run is this user’s, with mode 0\n$/m
  )
})

test(
  'a mailbox file that the system refuses is not taken for damaged',
  { skip: needsRoot },
  async (t) => {
    const data = serviceFolder(t)
    await letterlock(['account', 'create', ANNA, '--password-stdin', '--data', data], PASSWORD)
    const [domain = ''] = readdirSync(join(data, 'mail'))
    const [account = ''] = readdirSync(join(data, 'mail', domain))
    const folder = join(data, 'mail', domain, account)
    const create = ['account', 'create', 'bert@example.org', '--password-stdin', '--data', data]
    await letterlock(create, PASSWORD)
    const other = readdirSync(join(data, 'mail', domain)).find((name) => name !== account) ?? ''
    const sealed = join(data, 'mail', domain, other, 'spool', `${'0'.repeat(32)}.sealed`)
    writeFileSync(sealed, 'sealed')
    const check = () => letterlock(['check', ANNA, '--password-stdin', '--data', data], PASSWORD)
    for (const path of [join(folder, 'mail.db'), folder]) {
      chownSync(path, 0, 0)
      chmodSync(path, path === folder ? 0o700 : 0o600)
      const { code, stderr } = await check()
      assert.equal(code, 2)
      assert.match(
        stderr,
        /cannot be opened \(EACCES\): it belongs to user 0|belongs to user 0, and/
      )
      assert.doesNotMatch(stderr, /damaged/)
      if (path === folder) {
        const listed = await letterlock(['spool', 'list', '--data', data])
        assert.deepEqual([listed.code, listed.stdout.split('\t')[0]], [1, 'bert@example.org'])
        assert.match(listed.stderr, /spool cannot be opened \(EACCES\)/)
      }
      chownSync(path, 64321, 64321)
    }
    const { code, stderr } = await check()
    assert.equal(code, 0, stderr)
  }
)
