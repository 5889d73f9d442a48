import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient, deliver } from '../helpers/wire-client.js'

const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'strace is not installed'

const USER = 'u@example.org'
const MESSAGE = Buffer.from(`Subject: order\r\n\r\n${'a line of text\r\n'.repeat(100)}`)

/**
 * @typedef {{ kind: 'sync', file: string } | { kind: 'sent', text: string } | { kind: 'renamed', from: string, file: string }}
 *   Moment - a sync that has returned, bytes that were handed to a socket, or a file that has got this name
 */

/**
 * Reads what strace -f -y wrote, in the order in which the kernel was done with it.
 *
 * @param {string} trace
 * @returns {Moment[]}
 */
function readTrace(trace) {
  /** @type {Moment[]} */
  const moments = []
  /** @type {Map<string, string>} by thread: the file whose sync has begun */
  const begun = new Map()
  for (const line of readFileSync(trace, 'latin1').split('\n')) {
    const thread = /^(\d+)/.exec(line)?.[1] ?? ''
    const sync = /\b(?:fsync|fdatasync)\(\d+<([^>]*)>/.exec(line)
    if (sync?.[1] !== undefined) {
      if (/unfinished/.test(line)) begun.set(thread, sync[1])
      else if (/= 0$/.test(line)) moments.push({ kind: 'sync', file: sync[1] })
      continue
    }
    if (/<\.\.\. (?:fsync|fdatasync) resumed>.*= 0$/.test(line)) {
      moments.push({ kind: 'sync', file: begun.get(thread) ?? '' })
      continue
    }
    const [, from, file] = /\brename\("([^"]*)", "([^"]*)"\) += 0$/.exec(line) ?? []
    if (from !== undefined && file !== undefined) moments.push({ kind: 'renamed', from, file })
    const sent = /\b(?:write|writev|sendto|sendmsg)\(\d+<(?:socket|TCP)[^>]*>, (.*)/.exec(line)
    if (sent?.[1] !== undefined) moments.push({ kind: 'sent', text: sent[1] })
  }
  return moments
}

/**
 * @param {Moment[]} moments
 * @param {RegExp} pattern
 * @param {number} [from]
 * @returns {number} the index
 */
function indexOfSent(moments, pattern, from = 0) {
  const index = moments.findIndex(
    (moment, at) => at >= from && moment.kind === 'sent' && pattern.test(moment.text)
  )
  assert.ok(index >= 0, `nothing was sent that matches ${pattern}`)
  return index
}

/**
 * @param {Moment[]} moments
 * @param {number} from
 * @param {number} to
 * @param {RegExp} file
 * @returns {boolean} whether such a file was synced between the two
 */
const isSyncedBetween = (moments, from, to, file) =>
  moments.slice(from, to).some((moment) => moment.kind === 'sync' && file.test(moment.file))

test(
  'what makes a change durable comes before the tagged OK or the 250, and before anybody else is told',
  { skip },
  async (t) => {
    const folder = scratchFolder(t, 'order')
    const data = join(folder, 'data')
    const trace = join(folder, 'trace')
    mkdirSync(data)
    await createAccounts(data, [USER])
    const calls = 'fsync,fdatasync,write,writev,sendto,sendmsg'
    const server = await startServerProcess(t, {
      data,
      wrapper: ['strace', '-D', '-f', '-y', '-s', '4096', '-e', `trace=${calls}`, '-o', trace]
    })
    const watcher = await WireClient.connect(server.ports.imap)
    const actor = await WireClient.connect(server.ports.imap)
    await watcher.login(USER)
    await actor.login(USER)
    await watcher.command('SELECT INBOX')
    await actor.command('SELECT INBOX')
    watcher.send('idle IDLE\r\n')
    await watcher.until(/\+ [^\r]*\r\n/)

    /** Each step ends when the actor has its answer and the watcher has been told. */
    const steps = [
      {
        mark: 'step-append',
        command: 'APPEND INBOX',
        literal: MESSAGE,
        told: /\* 1 EXISTS/,
        answer: /OK \[APPENDUID/
      },
      {
        mark: 'step-store',
        command: 'STORE 1 +FLAGS.SILENT (\\Flagged)',
        told: /\* 1 FETCH/,
        answer: /OK/
      },
      {
        mark: 'step-delete',
        command: 'STORE 1 +FLAGS.SILENT (\\Deleted)',
        told: /\* 1 FETCH/,
        answer: /OK/
      },
      { mark: 'step-expunge', command: 'EXPUNGE', told: /\* 1 EXPUNGE/, answer: /OK/ }
    ]
    for (const { mark, command, literal, told, answer } of steps) {
      // The answer to this one marks the beginning of the step in the trace.
      await actor.command(`SELECT ${mark}`)
      await actor.command('SELECT INBOX')
      assert.match(await actor.command(command, literal), answer)
      await watcher.until(new RegExp(`${told.source}[^\\r]*\\r\\n`))
    }
    assert.match(await deliver(server.ports.lmtp, { to: USER, message: MESSAGE }), /^250 /)
    await watcher.until(/\* 1 EXISTS\r\n/)
    watcher.destroy()
    actor.destroy()
    assert.equal(await server.stop(), 0)

    const moments = readTrace(trace)
    let from = 0
    for (const { mark, command, told } of steps) {
      await t.test(`${command}: the write-ahead log first`, () => {
        // SELECT of a mailbox that is not there is answered right before the step.
        from = indexOfSent(moments, /READ-WRITE/, indexOfSent(moments, /NONEXISTENT/, from)) + 1
        const isTold = indexOfSent(moments, told, from)
        const isAnswered = indexOfSent(moments, /w\d+ OK/, from)
        assert.ok(
          isSyncedBetween(moments, from, isTold, /mail\.db-wal/),
          `${mark}: told before the sync`
        )
        assert.ok(
          isSyncedBetween(moments, from, isAnswered, /mail\.db-wal/),
          `${mark}: answered before the sync`
        )
      })
    }
    await t.test(
      'LMTP: file, then folder, then 250; the drain: the write-ahead log, then EXISTS',
      () => {
        const start = indexOfSent(moments, /354/, from)
        const accepted = indexOfSent(moments, /250 2\.[^"]*/, start)
        const file = moments.findIndex(
          (moment, at) => at > start && moment.kind === 'sync' && /spool\/.+/.test(moment.file)
        )
        const directory = moments.findIndex(
          (moment, at) => at > file && moment.kind === 'sync' && /\/spool$/.test(moment.file)
        )
        assert.ok(
          start < file && file < directory && directory < accepted,
          `${start} ${file} ${directory} ${accepted}`
        )
        const told = indexOfSent(moments, /\* 1 EXISTS/, start)
        assert.ok(
          isSyncedBetween(moments, directory, told, /mail\.db-wal/),
          'told of a message before it was durable'
        )
      }
    )
  }
)

test(
  'what a backup has of a mailbox is durable, its name included, before the directory asks for it',
  { skip },
  async (t) => {
    const folder = scratchFolder(t, 'order-restore')
    const data = join(folder, 'data')
    const trace = join(folder, 'trace')
    mkdirSync(data)
    await createAccounts(data, [USER])
    const options = { environment: { LETTERLOCK_BACKUP_FOLDER: join(folder, 'target') } }
    const run = (/** @type {string[]} */ args, /** @type {string[]} */ wrapper = []) =>
      letterlock([...args, '--data', data], { ...options, wrapper })
    for (const command of ['init', 'run'])
      assert.equal((await run(['backup', command])).code, 0, command)
    const account = JSON.parse((await run(['account', 'show', USER, '--json'])).stdout).folder
    const wrapper = ['strace', '-f', '-y', '-e', 'trace=fsync,fdatasync', '-o', trace]
    const restored = await run(['backup', 'restore', USER, '--yes'], wrapper)
    assert.equal(restored.code, 0, restored.stderr)

    const synced = readTrace(trace).flatMap((moment) =>
      moment.kind === 'sync' ? [moment.file] : []
    )
    const isStaged = (/** @type {string} */ file) =>
      file.startsWith(`${account}/restore`) && file.endsWith('/mail.db')
    const afterwards = synced.slice(synced.findIndex(isStaged) + 1)
    const next = afterwards.find((file) => file === account || file.endsWith('/directory.db-wal'))
    assert.ok(synced.some(isStaged))
    assert.equal(next, account)
  }
)

/**
 * @param {import('node:test').TestContext} t
 * @param {string} label
 * @returns {{ folder: string, data: string, traced: (args: string[]) => Promise<Moment[]> }} `traced`: runs a command, with the
 *   password at hand
 */
function commandsUnderTrace(t, label) {
  const folder = scratchFolder(t, label)
  const data = join(folder, 'new', 'data')
  const trace = join(folder, 'trace')
  const environment = { LETTERLOCK_BACKUP_FOLDER: join(folder, 'new', 'target') }
  const wrapper = ['strace', '-f', '-y', '-e', 'trace=fsync,fdatasync,rename', '-o', trace]
  return {
    folder,
    data,
    traced: async (args) => {
      const options = { input: 'pass\n', environment, wrapper }
      const { code, stderr } = await letterlock([...args, '--data', data], options)
      assert.equal(code, 0, stderr)
      return readTrace(trace)
    }
  }
}

/**
 * @param {Moment[]} moments
 * @returns {Set<string>}
 */
const syncedIn = (moments) =>
  new Set(moments.flatMap((moment) => (moment.kind === 'sync' ? [moment.file] : [])))

/**
 * @param {string} folder
 * @returns {string[]} it, and all files and folders in it
 */
const treeOf = (folder) => [
  folder,
  ...readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)))
]

const CREATE = ['account', 'create', USER, '--password-stdin']

test(
  'a new folder is durable with its name, at whatever depth it was made',
  { skip },
  async (t) => {
    const { folder, data, traced } = commandsUnderTrace(t, 'order-new')
    const made = syncedIn(await traced(CREATE))
    const account = dirname(String(treeOf(data).find((path) => path.endsWith('/mail.db'))))
    for (let at = account; at.length >= folder.length; at = dirname(at)) assert.ok(made.has(at), at)

    await traced(['backup', 'init'])
    const stored = syncedIn(await traced(['backup', 'run']))
    const target = join(folder, 'new', 'target')
    const pack = String(treeOf(target).find((path) => path.endsWith('.pack')))
    for (let at = dirname(pack); at.length >= target.length; at = dirname(at))
      assert.ok(stored.has(at), at)
  }
)

test(
  'a new mailbox is on the disk, whole and with its name, before its account is',
  { skip },
  async (t) => {
    const { data, traced } = commandsUnderTrace(t, 'order-account')
    await traced(CREATE)
    const other = 'other@example.org'
    const moments = await traced(CREATE.with(CREATE.indexOf(USER), other))
    const synced = moments.flatMap((moment) => (moment.kind === 'sync' ? [moment.file] : []))
    const mailboxes = treeOf(data).filter((path) => path.endsWith('/mail.db'))
    assert.equal(mailboxes.length, 2)
    const mailbox = mailboxes.find((path) => synced.includes(path)) ?? 'none was synced'
    const order = [
      synced.lastIndexOf(mailbox),
      synced.lastIndexOf(dirname(mailbox)),
      synced.lastIndexOf(dirname(dirname(mailbox))),
      synced.lastIndexOf(join(data, 'directory.db-wal'))
    ]
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      synced.join('\n')
    )
    // Once: SQLite would wait for the disk with each part of the schema.
    assert.equal(synced.filter((path) => path.startsWith(mailbox)).length, 1)
  }
)

test('an export is on the disk before it is said to be done', { skip }, async (t) => {
  const { folder, data, traced } = commandsUnderTrace(t, 'order-export')
  await traced(CREATE)
  const source = join(folder, 'source.eml')
  writeFileSync(source, MESSAGE)
  const account = ['--account', USER, '--password-stdin']
  assert.equal(
    (await letterlock(['import', source, ...account, '--data', data], { input: 'pass\n' })).code,
    0
  )
  for (const format of ['mbox', 'maildir', 'eml']) {
    const out = join(folder, 'out', format)
    const synced = syncedIn(await traced(['export', out, '--format', format, ...account]))
    for (const path of [...treeOf(out), dirname(out)]) assert.ok(synced.has(path), path)
  }
  const beside = join(folder, 'out')
  const synced = [...syncedIn(await traced(['export', '--file', join(beside, 'one'), ...account]))]
  // It gets its name when it is whole, and is durable by then.
  const wholeAt = synced.findIndex(
    (path) => dirname(dirname(path)) === beside && !path.includes('mail.db')
  )
  assert.ok(wholeAt !== -1 && wholeAt < synced.lastIndexOf(beside), synced.join('\n'))
})

test(
  'where a file takes the place of another, it and the removal of the log are durable before, its name afterwards',
  { skip },
  async (t) => {
    const { data, traced } = commandsUnderTrace(t, 'order-place')
    await traced(CREATE)
    const mailbox = String(treeOf(data).find((path) => path.endsWith('/mail.db')))
    for (const args of [
      ['maintain', '--compact', USER, '--password-stdin'],
      ['account', 'rekey', USER, '--password-stdin'],
      ['repair', USER, '--password-stdin']
    ]) {
      const moments = await traced(args)
      const at = moments.findIndex((moment) => moment.kind === 'renamed' && moment.file === mailbox)
      const renamed = moments[at]
      assert.ok(renamed?.kind === 'renamed', args.join(' '))
      const before = moments.slice(0, at)
      const last = before.findLast(({ kind }) => kind === 'sync')
      assert.ok(syncedIn(before).has(renamed.from), args.join(' '))
      assert.deepEqual(last, { kind: 'sync', file: dirname(mailbox) }, args.join(' '))
      const next = moments.slice(at).find(({ kind }) => kind === 'sync')
      assert.deepEqual(next, { kind: 'sync', file: dirname(mailbox) }, args.join(' '))
    }
  }
)
