/**
 * A disk that takes no writes any more, because it fails or because its file system has become read-only: everybody is
 * told that, nobody is told of damage, and nothing waits for ever.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { missing } from '../helpers/programs.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'
import { WireClient, deliver } from '../helpers/wire-client.js'

const DISK_BYTES = 64 * 1024 * 1024
const USER = 'user@example.org'

/**
 * @param {string} data - of one account in example.org
 * @returns {string} the folder of its mailbox
 */
function mailboxFolder(data) {
  const domain = join(data, 'mail', 'example.org')
  const [id = ''] = readdirSync(domain)
  return join(domain, id)
}

test(
  'a login whose waiting mail the disk does not take is refused for now, and the server ends well',
  { skip: missing('strace') },
  async (t) => {
    const data = scratchFolder(t, 'failing-disk')
    await createAccounts(data, [USER])
    const log = join(mailboxFolder(data), 'mail.db-wal')
    const inject = ['-e', 'trace=fdatasync', '-e', 'inject=fdatasync:error=EIO']
    const wrapper = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', '-P', log, ...inject]
    const server = await startServerProcess(t, { data, wrapper })
    await deliver(server.ports.lmtp, { to: USER, message: 'Subject: waits\r\n\r\nfor its owner' })
    const client = await WireClient.connect(server.ports.imap)
    assert.match(await client.command(`LOGIN ${USER} pass`), /^w\d+ NO \[UNAVAILABLE\]/m)
    client.destroy()
    assert.equal(await server.stop(), 0, server.output())
  }
)

test(
  'an account whose mailbox the disk does not keep is not made, and leaves nothing',
  { skip: missing('strace') },
  async (t) => {
    const data = scratchFolder(t, 'failing-disk')
    await createAccounts(data, [USER])
    const folder = mailboxFolder(data)
    const inject = ['-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO']
    const wrapper = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', dirname(folder), ...inject]
    const input = 'pass\n'
    const { code, stderr } = await letterlock(
      ['account', 'create', 'other@example.org', '--password-stdin', '--data', data],
      { input, wrapper }
    )
    assert.equal(code, 1)
    assert.match(stderr, /^letterlock: The disk refused to store the change\s+\(?EIO/m)
    assert.equal(mailboxFolder(data), folder)
    const { stdout } = await letterlock(['account', 'list', '--data', data])
    assert.match(stdout, /^user@example\.org\t[^\n]*\n$/)
  }
)

/**
 * @param {string} folder - of a mailbox
 * @returns {string[]} the signal comes when the file is renamed, and before anything else is done
 */
const killedAfterRename = (folder) => [
  ...['strace', '-f', '-qq', '-o', '/dev/null', '-P', join(folder, 'mail.db.next')],
  ...['-e', 'trace=rename', '-e', 'inject=rename:signal=SIGALRM']
]

/**
 * @param {string} folder - of a mailbox; a rekey opens it three times for SQLite, once before the rename, and once after it
 * @returns {string[]}
 */
const failingAfterRename = (folder) => [
  ...['strace', '-f', '-qq', '-o', '/dev/null', '-P', folder],
  ...['-e', 'trace=openat', '-e', 'inject=openat:error=EIO:when=5']
]

for (const { how, wrap, advice } of [
  {
    how: 'where the disk does not keep its new name',
    wrap: failingAfterRename,
    advice:
      /The next login finds out.*keep the recovery code above and the old one\.\nletterlock: The disk refused/
  },
  { how: 'where the process is killed then', wrap: killedAfterRename, advice: /^$/ }
])
  test(
    `the recovery code of a rekey is known when the file has taken its place: ${how}`,
    { skip: missing('strace') },
    async (t) => {
      const data = scratchFolder(t, 'failing-disk')
      await createAccounts(data, [USER])
      const run = (
        /** @type {string} */ command,
        input = 'pass\n',
        wrapper = /** @type {string[]} */ ([])
      ) =>
        letterlock([...command.split(' '), USER, '--data', data, '--password-stdin'], {
          input,
          wrapper
        })
      const file = join(mailboxFolder(data), 'mail.db')
      const { ino } = statSync(file)
      const failed = await run('account rekey', 'pass\n', wrap(mailboxFolder(data)))
      assert.notEqual(failed.code, 0)
      assert.match(failed.stderr, advice)
      assert.notEqual(statSync(file).ino, ino)
      const [, code] = /^recovery code: (llrec\S+)$/m.exec(failed.stdout) ?? []
      assert.ok(code !== undefined, failed.stdout)
      const checked = await run('check')
      assert.equal(checked.code, 0, checked.stderr)
      const changed = await run('account passwd', `${code}\nother\n`)
      assert.equal(changed.code, 0, changed.stderr)
      assert.equal((await run('check', 'other\n')).code, 0)
    }
  )

test('a rekey that cannot tell its recovery code, or fails before the file has changed, changes nothing', async (t) => {
  const data = scratchFolder(t, 'failing-disk')
  await createAccounts(data, [USER])
  const run = (/** @type {string[]} */ wrapper = []) =>
    letterlock(['account', 'rekey', USER, '--data', data, '--password-stdin'], {
      input: 'pass\n',
      wrapper
    })
  const untold = await run(['sh', '-c', 'exec "$@" > /dev/full', 'sh'])
  assert.equal(untold.code, 1)
  assert.match(untold.stderr, /ENOSPC/)
  const inTheWay = join(mailboxFolder(data), 'mail.db.next')
  mkdirSync(inTheWay)
  const failed = await run()
  assert.equal(failed.code, 1)
  assert.match(failed.stdout, /^recovery code: llrec/)
  assert.match(failed.stderr, /^Nothing has changed: the recovery code above opens nothing/m)
  rmdirSync(inTheWay)
  const shown = await letterlock(['account', 'show', USER, '--json', '--data', data])
  assert.equal(JSON.parse(shown.stdout).keyEpoch, 1)
})

test(
  'a rekey that was interrupted is finished when the new name of its file is durable, and not before',
  { skip: missing('strace') },
  async (t) => {
    const data = scratchFolder(t, 'failing-disk')
    await createAccounts(data, [USER])
    const folder = mailboxFolder(data)
    const run = (/** @type {string} */ command, wrapper = /** @type {string[]} */ ([])) =>
      letterlock([...command.split(' '), USER, '--data', data, '--password-stdin'], {
        input: 'pass\n',
        wrapper
      })
    const keyEpoch = async () =>
      JSON.parse((await letterlock(['account', 'show', USER, '--json', '--data', data])).stdout)
        .keyEpoch
    assert.notEqual((await run('account rekey', killedAfterRename(folder))).code, 0)
    const trace = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', folder, '-e', 'trace=fsync']
    const refused = await run('check', [...trace, '-e', 'inject=fsync:error=EIO'])
    assert.notEqual(refused.code, 0)
    assert.equal(await keyEpoch(), 1)
    const checked = await run('check')
    assert.equal(checked.code, 0, checked.stderr)
    assert.equal(await keyEpoch(), 2)
  }
)

test(
  'a mailbox on a file system that has become read-only is not called damaged',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, DISK_BYTES)
    const data = join(disk.root, 'data')
    await createAccounts(data, [USER])
    const run = (/** @type {string[]} */ ...args) =>
      letterlock([...args, '--data', data, '--password-stdin'], { input: 'pass\n' })
    disk.setReadOnly(true)
    for (const command of ['check', 'repair']) {
      const { code, stderr } = await run(command, USER)
      assert.match(stderr, /^letterlock: The disk refused to store the change\s+\(?EROFS/)
      assert.equal(code, 2)
    }
    const doctor = await letterlock(['doctor', '--data', data])
    assert.match(doctor.stdout, /^fail {2}disk: Nothing can be written to it \(EROFS\)/m)
    assert.equal(doctor.code, 1)
    const start = await letterlock(['serve', '--data', data, '--imap', '127.0.0.1:0'])
    assert.match(start.stderr, /data\/\w+ cannot be made: the disk takes nothing \(EROFS\)$/m)
    disk.setReadOnly(false)
    const checked = await run('check', USER)
    assert.equal(checked.code, 0, checked.stderr)
  }
)
