/**
 * A disk that is full under a running server: APPEND, LMTP and a backup are refused in plain words, reading goes on, and
 * once there is room everything works again, without a restart and without a loss.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'
import { WireClient, connectLmtp, deliverOver } from '../helpers/wire-client.js'

const FILES = 400
const DISK_BYTES = 64 * 1024 * 1024
const USER = 'user@example.org'
const skip = smallDiskIsMissing
const NO_ROOM = /^letterlock: There is no room on the disk.*\n$/

/**
 * @param {string} id
 * @param {number} bytes - of a body that does not shrink
 */
const message = (id, bytes) =>
  Buffer.concat([
    Buffer.from(`Message-ID: <${id}@disk>\r\nSubject: ${id}\r\n\r\n`),
    Buffer.from(randomBytes((bytes * 3) >> 2).toString('base64'))
  ])

/**
 * A server whose data lies on a small disk, and a session in a mailbox of some messages.
 *
 * @param {import('node:test').TestContext} t
 * @param {number} [files] - that the disk can hold; no bound unless told
 */
async function setUp(t, files = 0) {
  const disk = smallDisk(t, DISK_BYTES, { files })
  const data = join(disk.root, 'data')
  await createAccounts(data, [USER])
  const environment = { LETTERLOCK_ACCOUNTS_LINGER_MS: '0' }
  const server = await startServerProcess(t, { data, environment })
  const client = await logIn(server.ports.imap)
  /** @type {Map<string, Buffer>} what was acknowledged */
  const kept = new Map()
  const append = async (/** @type {string} */ id, /** @type {number} */ bytes) => {
    const text = message(id, bytes)
    const answer = await client.command('APPEND INBOX', text)
    const isTaken = /^w\d+ OK/m.test(answer)
    if (isTaken) kept.set(id, text)
    return answer
  }
  for (let i = 0; i < 5; i++) assert.match(await append(`first-${i}`, 200_000), /OK/)
  await client.command('SELECT INBOX')
  const check = () =>
    letterlock(['check', USER, '--data', data, '--password-stdin'], { input: 'pass\n' })
  return { disk, data, server, client, kept, append, check }
}

/** @param {number} port */
async function logIn(port) {
  const client = await WireClient.connect(port)
  await client.login(USER)
  return client
}

/**
 * @param {WireClient} client - with INBOX selected
 * @param {Map<string, Buffer>} kept
 */
async function requireAll(client, kept) {
  await client.command('NOOP')
  const answer = await client.command('UID FETCH 1:* (BODY.PEEK[])')
  for (const [id, bytes] of kept) assert.ok(answer.includes(bytes.toString('latin1')), id)
  assert.match(answer, /^w\d+ OK/m)
}

test(
  'APPEND on a full disk: NO [UNAVAILABLE], reading goes on, and room is enough to go on',
  { skip },
  async (t) => {
    const { disk, server, client, kept, append, check } = await setUp(t)
    const other = await logIn(server.ports.imap)
    await other.command('SELECT INBOX')
    // Refused while it streams in, and, with nothing left at all, in the last transaction of a small one.
    disk.fill(1_000_000)
    assert.match(await append('large', 5_000_000), /^w\d+ NO \[UNAVAILABLE\] /m)
    disk.fill(0)
    let refused = 0
    for (let i = 0; i < 200 && refused < 3; i++) {
      const answer = await append(`small-${i}`, 20_000)
      if (/^w\d+ NO/m.test(answer)) {
        assert.match(answer, /^w\d+ NO \[UNAVAILABLE\] /m)
        refused++
      }
    }
    assert.equal(refused, 3)
    await requireAll(client, kept)
    await requireAll(other, kept)
    assert.match(await client.command('STATUS INBOX (MESSAGES)'), /OK/)
    assert.match(server.output(), /"code":"DISK_FULL"/)

    disk.clear()
    assert.match(await append('after', 5_000_000), /^w\d+ OK/m)
    await requireAll(other, kept)
    for (const one of [client, other]) one.destroy()
    ;(await logIn(server.ports.imap)).destroy()
    assert.equal(await server.stop(), 0)
    const { code, stdout } = await check()
    assert.equal(code, 0, stdout)
    assert.match(stdout, new RegExp(`^${kept.size} messages`, 'm'))
  }
)

test(
  'what is made of messages when it is asked for is made on a full disk too, and not kept',
  { skip },
  async (t) => {
    const { disk, server, client, append, check } = await setUp(t)
    disk.fill(0)
    let answer = ''
    for (let i = 0; i < 200 && !answer.includes(' NO '); i++)
      answer = await append(`small-${i}`, 20_000)
    assert.match(answer, /^w\d+ NO \[UNAVAILABLE\] /m)
    // The transaction that failed was to write the rows of those before it as well.
    for (const item of ['PREVIEW', 'ENVELOPE', 'BODYSTRUCTURE', 'BODY.PEEK[TEXT]<0.9>']) {
      const told = await client.command(`UID FETCH 1:5 ${item}`)
      assert.equal(told.match(/ FETCH \(/g)?.length, 5, told.slice(-200))
      assert.match(told, /^w\d+ OK/m)
    }
    assert.match(await client.command('UID SORT (SUBJECT) UTF-8 UID 1:5'), /SORT 1 2 3 4 5\r\n/)
    disk.clear()
    assert.match(await client.command('UID FETCH 1:5 (ENVELOPE PREVIEW)'), /^w\d+ OK/m)
    client.destroy()
    assert.equal(await server.stop(), 0)
    assert.equal((await check()).code, 0)
  }
)

test(
  'LMTP on a full disk: 452 4.3.1, nothing stays, and mail comes in when there is room',
  { skip },
  async (t) => {
    const { disk, data, server, client, kept, check } = await setUp(t)
    const lmtp = await connectLmtp(server.ports.lmtp)
    disk.fill(0)
    const text = message('delivered', 300_000)
    for (let i = 0; i < 3; i++)
      assert.match(await deliverOver(lmtp, { to: USER, message: text }), /^452 4\.3\.1 /)
    await requireAll(client, kept)
    const left = readdirSync(data, { recursive: true, encoding: 'utf8' })
    assert.deepEqual(
      left.filter((name) => name.endsWith('.sealed')),
      []
    )
    disk.clear()
    assert.match(await deliverOver(lmtp, { to: USER, message: text }), /^250 /)
    lmtp.destroy()
    // The session is told of it without a restart of anything.
    for (;;) {
      const answer = await client.command('STATUS INBOX (MESSAGES)')
      if (Number(/MESSAGES (\d+)/.exec(answer)?.[1]) === kept.size + 1) break
    }
    client.destroy()
    assert.equal(await server.stop(), 0)
    assert.equal((await check()).code, 0)
  }
)

test(
  'a backup on a full disk fails in one line, leaves the last one whole, and the next is good',
  { skip },
  async (t) => {
    const { disk, data, server, client, kept, append, check } = await setUp(t)
    const elsewhere = scratchFolder(t, 'full-disk')
    const run = (/** @type {string[]} */ args, folder = join(disk.root, 'target')) =>
      letterlock(['backup', ...args, '--data', data], {
        environment: { LETTERLOCK_BACKUP_FOLDER: folder }
      })
    assert.equal((await run(['init'])).code, 0)
    const first = await run(['run'])
    assert.equal(first.code, 0, first.stderr)
    for (let i = 0; i < 5; i++) assert.match(await append(`second-${i}`, 2_000_000), /OK/)
    disk.fill(0)
    for (let i = 0; i < 2; i++) {
      const failed = await run(['run'])
      assert.equal(failed.code, 2, failed.stdout + failed.stderr)
      assert.match(failed.stderr, NO_ROOM)
    }
    await requireAll(client, kept)
    const { stdout } = await run(['list'])
    assert.equal(stdout.trim().split('\n').length, 1)
    assert.equal((await run(['verify', '--all'])).code, 0)
    assert.ok(readdirSync(elsewhere).length === 0)
    assert.ok(!readdirSync(join(data, 'tmp')).some((name) => name.startsWith('backup-')))

    disk.clear()
    const next = await run(['run'])
    assert.equal(next.code, 0, next.stderr)
    assert.equal((await run(['verify', '--all'])).code, 0)
    client.destroy()
    assert.equal(await server.stop(), 0)
    assert.equal((await check()).code, 0)
  }
)

test(
  'a full disk under the log alone ends nobody’s session, and the log goes on when there is room',
  { skip },
  async (t) => {
    const disk = smallDisk(t, 1024 * 1024)
    const log = join(disk.root, 'log')
    const data = join(scratchFolder(t, 'full-log'), 'data')
    await createAccounts(data, [USER])
    const wrapper = ['sh', '-c', `exec "$@" 2>> ${log}`, 'sh']
    const server = await startServerProcess(t, { data, wrapper })
    const session = await logIn(server.ports.imap)
    disk.fill(0)
    // Each is a line, and a page of the disk has room for some 20.
    for (let i = 0; i < 60; i++) (await logIn(server.ports.imap)).destroy()
    assert.match(await session.command('NOOP'), /^w\d+ OK/m)
    const linesOf = () => readFileSync(log, 'utf8').split('"msg":"logged in"').length - 1
    assert.ok(linesOf() < 61)
    disk.clear()
    await logIn(server.ports.imap)
    assert.equal(linesOf(), 62)
    assert.equal(await server.stop(), 0)
  }
)

test(
  'on a disk that takes no more files, or is read-only, a mailbox does not open for now: it is not damaged',
  { skip },
  async (t) => {
    const { disk, data, server, client, check } = await setUp(t, FILES)
    client.destroy()
    const [name] = readdirSync(join(data, 'mail', 'example.org'))
    const folder = join(data, 'mail', 'example.org', name ?? '')
    // Closed, it has no log: the next to open it makes one.
    while (existsSync(join(folder, 'mail.db-wal'))) await sleep(20)
    disk.fillFiles(0)
    const refused = await WireClient.connect(server.ports.imap)
    assert.match(await refused.command(`LOGIN ${USER} pass`), /^w\d+ NO \[UNAVAILABLE\] /m)
    refused.destroy()
    const full = await check()
    assert.equal(full.code, 2)
    assert.match(full.stderr, NO_ROOM)
    disk.clear()
    ;(await logIn(server.ports.imap)).destroy()
    assert.doesNotMatch(server.output(), /ACCOUNT_DAMAGED/)
    assert.equal(await server.stop(), 0)
    // One file more at a time, until what the command makes has room.
    for (let left = 0, isDone = false; !isDone; left++) {
      disk.fillFiles(left)
      const { code, stderr } = await check()
      isDone = code === 0
      if (!isDone) assert.match(stderr, NO_ROOM)
      disk.clear()
    }
    disk.setReadOnly(true)
    const { code, stderr } = await check()
    assert.equal(code, 2)
    assert.match(stderr, /^letterlock: The disk refused to store the change \(EROFS\)\n$/)
    disk.setReadOnly(false)
    assert.equal((await check()).code, 0)
  }
)

test(
  'a backup on a disk that takes no more files says that nothing was done',
  { skip },
  async (t) => {
    const disk = smallDisk(t, DISK_BYTES, { files: FILES })
    const data = join(disk.root, 'data')
    await createAccounts(data, [USER])
    const environment = { LETTERLOCK_BACKUP_FOLDER: scratchFolder(t, 'full-disk') }
    const run = (/** @type {string} */ command) =>
      letterlock(['backup', command, '--data', data], { environment })
    assert.equal((await run('init')).code, 0)
    for (let left = 0, isDone = false; !isDone; left++) {
      disk.fillFiles(left)
      const { code, stderr } = await run('run')
      isDone = code === 0
      if (!isDone) assert.equal(code, 2, stderr)
      if (!isDone) assert.match(stderr, NO_ROOM)
      // Of the two disks this one.
      if (!isDone) assert.ok(stderr.includes(disk.root), stderr)
      disk.clear()
    }
  }
)
