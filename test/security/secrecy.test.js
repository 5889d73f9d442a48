import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient, deliver } from '../helpers/wire-client.js'

/**
 * Words that stand in no program and no other message. Each appears in the clear in what a client or the
 * mail transfer agent sends, so any of them in a file is a leak.
 */
const MARKERS = [
  'zanzibarquagga',
  'xylophagewombat',
  'quokkamoonstone',
  'thylacinegarnet',
  'okapibergamot'
]
const [SUBJECT = '', BODY = '', FOLDER = '', APPENDED = '', IMPORTED = ''] = MARKERS

const hasStrace = spawnSync('strace', ['-V']).status === 0
const skip = hasStrace ? false : 'strace is not installed'

/**
 * @param {string} word
 * @param {string} subject
 */
const message = (word, subject) =>
  [
    'From: Someone <someone@example.net>',
    'To: locked@example.org',
    `Subject: about ${subject}`,
    'Date: Fri, 20 Nov 2026 10:00:00 +0000',
    '',
    ...Array.from({ length: 200 }, (_, line) => `line ${line} tells of ${word}`),
    ''
  ].join('\r\n')

/**
 * @param {string} folder
 * @returns {string[]} the files below it that have a marker, plainly or as UTF-16
 */
function leaks(folder) {
  const needles = MARKERS.flatMap((word) => [Buffer.from(word), Buffer.from(word, 'utf16le')])
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (path) =>
        MARKERS.some((word) => path.includes(word)) ||
        needles.some((needle) => bytesOf(path).includes(needle))
    )
}

/**
 * @param {string} path
 * @returns {Buffer} nothing where a server that runs has removed the file meanwhile
 */
function bytesOf(path) {
  try {
    return readFileSync(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/**
 * @param {string} trace - of strace -y: each line names the file behind a descriptor
 * @returns {Promise<{ writes: number, leaks: string[] }>} writes to files, and those that had a marker
 */
async function leaksInWrites(trace) {
  let writes = 0
  const found = []
  for await (const line of createInterface({ input: createReadStream(trace, 'latin1') })) {
    const target = /\b(?:write|pwrite64|writev|pwritev2?)\(\d+<([^>]*)>/.exec(line)?.[1]
    if (target === undefined || /^(socket|pipe|TCP|UNIX|anon_inode)/.test(target)) continue
    writes++
    if (MARKERS.some((word) => line.includes(word))) found.push(`${target}: ${line.slice(0, 200)}`)
  }
  return { writes, leaks: found }
}

test('no word of a message, a folder name or a search reaches a file, from LMTP to expunge', async (t) => {
  const folder = scratchFolder(t, 'secrecy')
  const data = join(folder, 'data')
  const trace = join(folder, 'trace')
  mkdirSync(data)
  await createAccounts(data, ['locked@example.org'])
  const wrapper = hasStrace
    ? [
        'strace',
        '-D', // the server stays our child, and gets our signals
        '-f',
        '-y',
        '-s',
        '1000000',
        '-o',
        trace,
        '-e',
        'trace=write,pwrite64,writev,pwritev,pwritev2'
      ]
    : []
  if (!hasStrace) t.diagnostic('strace is not installed: files are searched, writes are not')
  const server = await startServerProcess(t, {
    data,
    wrapper,
    environment: { LETTERLOCK_LOG_LEVEL: 'debug' }
  })

  await t.test('delivered while locked', async () => {
    const reply = await deliver(server.ports.lmtp, {
      to: 'locked@example.org',
      message: message(BODY, SUBJECT)
    })
    assert.match(reply, /^250 /)
    assert.deepEqual(leaks(data), [])
  })

  await t.test('drained, appended, copied, searched, fetched, expunged', async () => {
    const client = await WireClient.connect(server.ports.imap)
    after(() => client.destroy())
    await client.login('locked@example.org')
    assert.match(await client.command('SELECT INBOX'), /\* 1 EXISTS/)
    assert.match(await client.command(`CREATE ${FOLDER}`), /OK/)
    const bytes = Buffer.from(message(APPENDED, APPENDED))
    for (let i = 0; i < 20; i++) {
      assert.match(await client.command(`APPEND ${FOLDER}`, bytes), /OK \[APPENDUID/)
    }
    assert.match(await client.command(`COPY 1 ${FOLDER}`), /OK/)
    assert.match(await client.command(`UID SEARCH TEXT ${BODY}`), /\* SEARCH 1\r/)
    assert.match(await client.command(`SEARCH OR SUBJECT ${APPENDED} BODY ${IMPORTED}`), /OK/)
    assert.match(await client.command('FETCH 1 (ENVELOPE BODY[])'), new RegExp(BODY))
    assert.match(await client.command(`STORE 1 +FLAGS (\\Deleted ${FOLDER}flag)`), /OK/)
    assert.match(await client.command('EXPUNGE'), /\* 1 EXPUNGE/)
    assert.match(await client.command(`RENAME ${FOLDER} ${FOLDER}/${FOLDER}`), /OK|NO/)
    assert.deepEqual(leaks(data), [])
  })

  await t.test('imported by another process', async () => {
    const source = join(folder, 'source')
    mkdirSync(source)
    writeFileSync(join(source, '1.eml'), message(IMPORTED, IMPORTED))
    const result = await letterlock(
      [
        'import',
        '--data',
        data,
        '--account',
        'locked@example.org',
        '--mailbox',
        FOLDER,
        '--password-stdin',
        source
      ],
      { input: 'pass\n' }
    )
    assert.equal(result.code, 0, result.stderr)
    assert.deepEqual(leaks(data), [])
  })

  assert.equal(await server.stop(), 0)
  await t.test('nor in the log, which was at debug', () => {
    for (const word of MARKERS) assert.ok(!server.output().includes(word), word)
    assert.ok(!/\bpass\b/.test(server.output()))
  })
  await t.test('nor after the last checkpoint', () => assert.deepEqual(leaks(data), []))
  await t.test('nor in any write to a file, temporary ones included', async (t) => {
    if (!existsSync(trace)) return t.skip('strace is not installed')
    const { writes, leaks } = await leaksInWrites(trace)
    assert.ok(writes > 50, `only ${writes} writes were seen`)
    assert.deepEqual(leaks, [])
  })
})

test(
  'no command of maintenance, backup, restore, import or export writes a word of a message, not for a moment',
  { skip },
  async (t) => {
    const folder = scratchFolder(t, 'secrecy-commands')
    const data = join(folder, 'data')
    const user = 'user@example.org'
    mkdirSync(data)
    await createAccounts(data, [user])
    const first = await startServerProcess(t, {
      data,
      environment: { LETTERLOCK_MAINTENANCE_ENABLED: 'false' }
    })
    const client = await WireClient.connect(first.ports.imap)
    await client.login(user)
    await client.command(`CREATE ${FOLDER}`)
    for (let i = 0; i < 16; i++) {
      const [place, size] = i % 2 === 0 ? ['INBOX (\\Deleted)', 900_000] : [FOLDER, 40_000]
      const noise = randomBytes(size).toString('base64')
      await client.command(
        `APPEND ${place}`,
        Buffer.from(`Message-ID: <${i}@${APPENDED}>\r\n${message(BODY, SUBJECT)}${noise}\r\n`)
      )
    }
    await client.command('SELECT INBOX')
    await client.command('EXPUNGE')
    client.destroy()
    // VACUUM by the command needs the mailbox closed.
    assert.equal(await first.stop(), 0)

    const environment = {
      LETTERLOCK_BACKUP_FOLDER: join(folder, 'target'),
      LETTERLOCK_LOG_LEVEL: 'debug'
    }
    const portable = join(folder, 'user.letterlock')
    const restored = join(folder, 'restored')
    let recoveryKey = ''
    let number = 0
    /**
     * @param {string[]} args
     * @param {() => string} [input]
     */
    const run = async (args, input = () => 'pass\n') => {
      const trace = join(folder, `trace-${number++}`)
      const calls = 'trace=write,pwrite64,writev,pwritev,pwritev2'
      const result = await letterlock(args, {
        input: input(),
        environment,
        wrapper: ['strace', '-f', '-y', '-s', '1000000', '-o', trace, '-e', calls]
      })
      const said = result.stdout + result.stderr
      assert.equal(result.code, 0, `${args.join(' ')}: ${said}`)
      const { writes, leaks } = await leaksInWrites(trace)
      assert.ok(writes > 0, args.join(' '))
      rmSync(trace)
      return { said, leaks }
    }
    const check = async (/** @type {Parameters<typeof run>} */ ...command) => {
      const { said, leaks } = await run(...command)
      assert.deepEqual(leaks, [], command[0].join(' '))
      return said
    }
    const here = ['--data', data]
    const asked = [...here, '--password-stdin']
    recoveryKey = /AGE\S+/.exec(await check(['backup', 'init', ...here]))?.[0] ?? ''
    assert.match(await check(['maintain', user, ...asked]), /vacuum: done/)
    const server = await startServerProcess(t, { data })
    for (const args of [
      ['backup', 'nightly', ...here],
      ['backup', 'verify', user, ...asked],
      ['backup', 'restore', user, '--folder', FOLDER, ...asked],
      ['backup', 'restore', user, '--message-id', `<1@${APPENDED}>`, ...asked],
      ['backup', 'restore', user, '--as', 'other@example.org', ...asked],
      ['backup', 'restore', user, '--yes', ...here],
      ['export', '--account', user, '--file', portable, ...asked]
    ])
      await check(args)
    const from = `imap://${encodeURIComponent(user)}@127.0.0.1:${server.ports.imap}`
    await check(
      ['import', 'imap', '--from', from, '--account', 'other@example.org', '--plaintext', ...asked],
      () => 'pass\npass\n'
    )
    // What is written in the clear, because it is meant to be, is seen.
    const clear = join(folder, 'clear')
    const exported = await run(['export', '--account', user, '--format', 'eml', clear, ...asked])
    assert.ok(exported.leaks.length > 0)
    rmSync(clear, { recursive: true })
    assert.equal(await server.stop(), 0)
    await check(['maintain', '--compact', user, ...asked])
    await check(['repair', user, ...asked])
    await check(
      ['backup', 'restore', '--host', '--password-stdin', '--data', restored],
      () => `${recoveryKey}\n`
    )
    assert.deepEqual(leaks(folder), [])
    for (const word of MARKERS)
      for (const { output } of [first, server]) assert.ok(!output().includes(word), word)
  }
)

test('a stolen data folder opens nothing, not with the directory of another account either', async (t) => {
  const folder = scratchFolder(t, 'stolen')
  const [first, second] = ['first', 'second'].map((name) => join(folder, name))
  await createAccounts(/** @type {string} */ (first), ['a@example.org'], 'right')
  await createAccounts(/** @type {string} */ (second), ['a@example.org'], 'other')
  // The thief puts the mail of one data folder under the directory of another, whose password is known.
  const mailbox = (/** @type {string} */ data) =>
    readdirSync(join(data, 'mail'), { recursive: true, withFileTypes: true }).find(
      ({ name }) => name === 'mail.db'
    )
  const from = mailbox(/** @type {string} */ (first))
  const to = mailbox(/** @type {string} */ (second))
  assert.ok(from && to)
  writeFileSync(join(to.parentPath, 'mail.db'), readFileSync(join(from.parentPath, 'mail.db')))
  const stolen = await letterlock(
    ['check', '--data', String(second), 'a@example.org', '--password-stdin'],
    { input: 'other\n' }
  )
  assert.notEqual(stolen.code, 0)
  const guess = await letterlock(
    ['check', '--data', String(first), 'a@example.org', '--password-stdin'],
    { input: 'wrong\n' }
  )
  assert.notEqual(guess.code, 0)
  const owner = await letterlock(
    ['check', '--data', String(first), 'a@example.org', '--password-stdin'],
    { input: 'right\n' }
  )
  assert.equal(owner.code, 0, owner.stderr)
})
