import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect as connectTo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import { dovecotIsMissing, startDovecot } from '../helpers/dovecot.js'
import {
  createAccounts,
  letterlock,
  MAIN,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { startImapSource } from '../helpers/imap-source.js'
import { madeMessage, sampleMessages } from '../helpers/programs.js'

/**
 * @typedef {object} Place
 * @property {number} port
 * @property {string} user
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {Place} place
 */
async function connect(t, { port, user }) {
  const flow = new ImapFlow({
    host: '127.0.0.1',
    port,
    doSTARTTLS: false,
    auth: { user, pass: 'pass' },
    logger: false,
    disableAutoIdle: true
  })
  flow.on('error', () => {})
  t.after(() => flow.close())
  await flow.connect()
  return flow
}

/**
 * @param {ImapFlow} flow
 * @returns {Promise<Record<string, { uidValidity: string, uidNext: number, messages: string[] }>>} by mailbox, with '/' between levels
 */
async function snapshot(flow) {
  /** @type {Record<string, { uidValidity: string, uidNext: number, messages: string[] }>} */
  const found = {}
  for (const { path, delimiter } of await flow.list()) {
    const mailbox = await flow.mailboxOpen(path, { readOnly: true })
    const messages = []
    const query = { uid: true, flags: true, internalDate: true, source: true }
    const fetched = mailbox.exists > 0 ? flow.fetch('1:*', query) : []
    for await (const { uid, flags, internalDate, source } of fetched) {
      const hash = createHash('sha256')
        .update(/** @type {Buffer} */ (source))
        .digest('hex')
      const kept = [...(flags ?? [])].filter((flag) => flag !== '\\Recent').sort()
      const date = new Date(internalDate ?? 0).toISOString()
      messages.push(`${uid} ${date} ${kept.join(' ')} ${hash.slice(0, 16)}`)
    }
    found[path.split(delimiter).join('/')] = {
      uidValidity: String(mailbox.uidValidity),
      uidNext: mailbox.uidNext,
      messages
    }
  }
  return found
}

/**
 * @param {ImapFlow} flow
 * @param {{ count: number, folders: string[], large?: boolean }} wanted
 */
async function fill(flow, { count, folders, large = false }) {
  for (const folder of folders) if (folder !== 'INBOX') await flow.mailboxCreate(folder)
  const samples = sampleMessages(40)
  for (let number = 0; number < count; number++) {
    const flags = ['\\Seen', '\\Flagged', '$Forwarded', 'Project-1'].filter(
      (_, index) => number % (index + 2) === 0
    )
    const bytes = Buffer.concat([
      Buffer.from(`X-Number: ${number}\r\n`),
      samples[number % samples.length] ?? madeMessage(number)
    ])
    const folder = folders[number % folders.length] ?? 'INBOX'
    await flow.append(folder, bytes, flags, new Date(Date.UTC(2020, 0, 1 + number)))
  }
  if (large) {
    const bytes = Buffer.concat([
      madeMessage('large'),
      Buffer.alloc(2_500_000, 'line after line\r\n')
    ])
    await flow.append('INBOX', bytes, [], new Date(Date.UTC(2021, 0, 1)))
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ data: string, account: string }>} that no server has open
 */
async function makeTarget(t) {
  const data = join(scratchFolder(t, 'moving-in'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['ann@example.org'])
  return { data, account: 'ann@example.org' }
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ data: string, account: string, read: () => Promise<ImapFlow> }>}
 */
async function startTarget(t) {
  const target = await makeTarget(t)
  const server = await startServerProcess(t, { data: target.data })
  return { ...target, read: () => connect(t, { port: server.ports.imap, user: target.account }) }
}

/**
 * A UIDVALIDITY is the second in which a mailbox was made, or a later one. Here both servers are a few seconds old, and what one
 * mailbox had while its first messages came is refused to another. So whatever is made next is made in a second of its own.
 *
 * @param {ImapFlow} flow
 * @param {string[]} paths - of its mailboxes
 */
async function untilOlder(flow, paths) {
  for (const path of paths) {
    const { uidValidity } = await flow.mailboxOpen(path, { readOnly: true })
    while (Date.now() / 1000 < Number(uidValidity) + 1) await sleep(50)
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<Place>}
 */
async function startSource(t) {
  const data = join(scratchFolder(t, 'source'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['old@example.net'])
  const { ports } = await startServerProcess(t, { data })
  return { port: ports.imap, user: 'old@example.net' }
}

/**
 * @param {{ data: string, account: string }} target
 * @param {Place} source
 * @param {string[]} [more]
 */
const commandOf = ({ data, account }, { port, user }, more = []) => [
  ...['import', 'imap', '--from', `imap://${encodeURIComponent(user)}@127.0.0.1:${port}`],
  ...['--account', account, '--data', data, '--plaintext', '--password-stdin', ...more]
]

const PASSWORDS = 'pass\npass\n'

/** Messages of an account that is copied under difficulties. */
const MANY = process.env['LETTERLOCK_TEST_TORTURE'] === undefined ? 1400 : 20_000

/**
 * A way to a server that stands still once it has carried an allowance of the
 * server's bytes, and that can be cut: so what happens half-way of a copy does
 * not depend on how fast the copy is.
 *
 * @param {import('node:test').TestContext} t
 * @param {number} port
 */
async function wayTo(t, port) {
  /** @type {Map<import('node:net').Socket, import('node:net').Socket>} the server's side of each client's */
  const open = new Map()
  let allowance = Infinity
  const isSpent = () => allowance <= 0
  const server = createServer((near) => {
    const far = connectTo(port, '127.0.0.1')
    open.set(near, far)
    near.on('close', () => {
      open.delete(near)
      far.destroy()
    })
    far.on('close', () => near.destroy())
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far)
    far.on('data', (bytes) => {
      near.write(bytes)
      allowance -= bytes.length
      if (isSpent()) for (const each of open.values()) each.pause()
    })
    if (isSpent()) far.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  /** @returns {number} how many connections were ended */
  const cut = () => {
    const { size } = open
    for (const socket of open.keys()) socket.destroy()
    return size
  }
  t.after(() => {
    cut()
    server.close()
  })
  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    cut,
    /** @param {number} bytes that go through before it stands still */
    allow: (bytes) => {
      allowance = bytes
      for (const far of open.values()) far.resume()
    },
    /** Waits until it stands still. */
    spent: async () => {
      while (!isSpent()) await sleep(5)
    }
  }
}

test('a whole account is copied beside the running server, and later runs bring what has changed', async (t) => {
  const source = await startSource(t)
  const target = await startTarget(t)
  const there = await connect(t, source)
  await fill(there, {
    count: 60,
    folders: ['INBOX', 'Sent', 'Work', 'Work/Größe & Maß'],
    large: true
  })
  await there.mailboxSubscribe('Work')
  await there.mailboxUnsubscribe('Work/Größe & Maß')
  await there.mailboxUnsubscribe('Junk')

  const first = await letterlock(commandOf(target, source), { input: PASSWORDS })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^copied 61, there already 0, flags changed 0, deleted 0, failed 0/)
  const here = await target.read()
  const messagesOf = async (/** @type {ImapFlow} */ flow) =>
    Object.fromEntries(
      Object.entries(await snapshot(flow)).map(([name, { messages }]) => [name, messages])
    )
  assert.deepEqual(await messagesOf(here), await messagesOf(there), 'bytes, flags, dates and UIDs')
  const subscribed = (await here.list())
    .filter((folder) => folder.subscribed)
    .map(({ path }) => path)
  assert.deepEqual(subscribed.sort(), ['Archive', 'Drafts', 'INBOX', 'Sent', 'Trash', 'Work'])

  await there.mailboxOpen('Work')
  await there.messageFlagsAdd('1:3', ['\\Answered'])
  await there.messageDelete('4:6')
  await fill(there, { count: 5, folders: ['INBOX'] })
  const second = await letterlock(commandOf(target, source), { input: PASSWORDS })
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /^copied 5, there already 58, flags changed 3, deleted 3, failed 0/)
  const again = await target.read()
  assert.deepEqual(await messagesOf(again), await messagesOf(there))

  const third = await letterlock(commandOf(target, source), { input: PASSWORDS })
  assert.match(third.stdout, /^copied 0, there already 63, flags changed 0, deleted 0, failed 0/)
})

test('what was changed here alone stays, and a folder that was emptied there stays full here', async (t) => {
  const source = await startSource(t)
  const target = await startTarget(t)
  const there = await connect(t, source)
  await fill(there, { count: 60, folders: ['INBOX'] })
  await letterlock(commandOf(target, source), { input: PASSWORDS })
  const here = await target.read()
  await here.mailboxOpen('INBOX')
  await here.messageFlagsSet('1', ['\\Draft'])
  await there.mailboxOpen('INBOX')
  await there.messageDelete('1:*')
  const kept = await letterlock(commandOf(target, source), { input: PASSWORDS })
  assert.match(kept.stdout, /60 messages are gone at the source and were left here/)
  assert.ok((await here.noop()) === undefined)
  assert.equal(here.mailbox && here.mailbox.exists, 60)
  const always = commandOf(target, source, ['--expunge', 'always'])
  const gone = await letterlock(always, { input: PASSWORDS })
  assert.match(gone.stdout, /^copied 0, there already 0, flags changed 0, deleted 60/)
})

test('killed at any point, the next run goes on: nothing twice, nothing lost', async (t) => {
  const source = await startSource(t)
  const target = await makeTarget(t)
  const there = await connect(t, source)
  await fill(there, { count: 200, folders: ['INBOX', 'Work'], large: true })
  for (const waitMs of [600, 1000, 1400]) {
    const child = spawn(process.execPath, [MAIN, ...commandOf(target, source)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { ...process.env, LETTERLOCK_AUTH_ARGON2_MEMORY_KIB: String(19 * 1024) }
    })
    const closed = once(child, 'close')
    child.stdin.end(PASSWORDS)
    await sleep(waitMs)
    child.kill('SIGKILL')
    await closed
  }
  const { code, stderr } = await letterlock(commandOf(target, source), { input: PASSWORDS })
  assert.equal(code, 0, stderr)
  const server = await startServerProcess(t, { data: target.data })
  const here = await connect(t, { port: server.ports.imap, user: target.account })
  const [found, wanted] = [await snapshot(here), await snapshot(there)]
  for (const name of ['INBOX', 'Work']) {
    assert.deepEqual(found[name]?.messages, wanted[name]?.messages, name)
  }
})

test('a wrong password, a missing server and a bad address end with one line and exit code 2', async (t) => {
  const source = await startSource(t)
  const target = await makeTarget(t)
  const run = async (/** @type {string[]} */ args, input = PASSWORDS) => {
    const { code, stdout, stderr } = await letterlock(args, { input })
    assert.deepEqual([code, stdout], [2, ''], stderr)
    assert.equal(stderr.split('\n').length, 2, stderr)
    return stderr
  }
  assert.match(
    await run(commandOf(target, source), 'pass\nwrong\n'),
    /the source refused the login/
  )
  assert.match(await run(commandOf(target, source), 'wrong\npass\n'), /Authentication failed/)
  assert.match(
    await run(commandOf(target, { ...source, port: 1 })),
    /cannot be reached \(ECONNREFUSED\)/
  )
  const args = [
    'import',
    'imap',
    '--from',
    'imaps://u:secret@h',
    '--account',
    'a',
    '--data',
    target.data
  ]
  const said = await run(args)
  assert.match(said, /a password has no place in the address/)
  assert.ok(!said.includes('secret'))
})

test('what a source says gives no orders to the terminal', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('* OK [CAPABILITY IMAP4rev1] ready\r\n')
    socket.on('data', (bytes) => {
      const [tag, name] = bytes.toString('latin1').split(' ')
      const answer =
        name === 'LOGIN' ? 'OK [CAPABILITY IMAP4rev1] in' : 'NO \u001b]0;owned\u0007 is down'
      socket.write(`${tag} ${answer}\r\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const source = { port, user: 'old@example.net' }
  const { code, stderr } = await letterlock(commandOf(await makeTarget(t), source), {
    input: PASSWORDS
  })
  assert.equal(code, 2)
  assert.equal(stderr, 'letterlock: The copy ended early: the source says: ?]0;owned? is down\n')
})

test('a list of accounts must be private; each is copied, and one that fails stops no other', async (t) => {
  const source = await startSource(t)
  const target = await makeTarget(t)
  await createAccounts(target.data, ['ben@example.org'])
  await fill(await connect(t, source), { count: 10, folders: ['INBOX'] })
  const from = `imap://old%40example.net@127.0.0.1:${source.port}`
  const list = join(target.data, '..', 'list.tsv')
  const lines = [
    '# source, password, account, password',
    `${from}\twrong\tann@example.org\tpass`,
    `${from}\tpass\tben@example.org\tpass`
  ]
  writeFileSync(list, `${lines.join('\n')}\n`, { mode: 0o644 })
  const args = ['import', 'imap', '--list', list, '--data', target.data, '--plaintext']
  const open = await letterlock(args)
  assert.equal(open.code, 2)
  assert.match(open.stderr, /chmod 600/)
  chmodSync(list, 0o600)
  const { code, stdout, stderr } = await letterlock(args)
  assert.equal(code, 1, stderr)
  assert.match(stdout, /^ben@example\.org: done: copied 10,/m)
  assert.match(stdout, /^1 accounts are there, 0 in part, 1 not at all$/m)
  assert.match(stderr, /ann@example\.org: letterlock: .*refused the login/)
})

test('a copy that the quota ends says what it has copied, and is one in part', async (t) => {
  const messages = Array.from({ length: 130 }, (_, at) => ({
    uid: at + 1,
    bytes: Buffer.from(`Subject: ${at}\r\n\r\nbody\r\n`)
  }))
  const { port } = await startImapSource(t, { folders: { INBOX: { uidValidity: 7, messages } } })
  const target = await makeTarget(t)
  const { data, account } = target
  const set = ['account', 'set', account, '--quota-messages', '100', '--data', data]
  assert.equal((await letterlock(set)).code, 0)
  const source = { port, user: 'old@example.net' }
  const { code, stdout, stderr } = await letterlock(commandOf(target, source), {
    input: PASSWORDS
  })
  assert.equal(code, 1)
  assert.match(stdout, /^copied 100, there already 0, /)
  assert.match(stderr, /^letterlock: The copy ended early: The mailbox is full$/m)

  const list = join(data, '..', 'list.tsv')
  const from = `imap://old%40example.net@127.0.0.1:${port}`
  writeFileSync(list, `${from}\tpass\t${account}\tpass\n`, { mode: 0o600 })
  const args = ['import', 'imap', '--list', list, '--data', data, '--plaintext']
  const listed = await letterlock(args)
  assert.equal(listed.code, 1)
  assert.match(listed.stdout, /^ann@example\.org: NOT DONE: copied 0, there already 100, /m)
  assert.match(listed.stdout, /^0 accounts are there, 1 in part, 0 not at all$/m)
})

test(
  'from Dovecot: UIDs, UIDVALIDITY and uses are those of the source, and stay so in later runs',
  { skip: dovecotIsMissing },
  async (t) => {
    const target = await startTarget(t)
    await untilOlder(await target.read(), ['INBOX'])
    const { port } = await startDovecot(t)
    const source = { port, user: 'u1' }
    const there = await connect(t, source)
    await fill(there, { count: 200, folders: ['INBOX'] })
    await fill(there, { count: 60, folders: ['Lists', 'Lists.Größe'] })
    await untilOlder(there, ['INBOX', 'Lists', 'Lists.Größe'])
    await there.mailboxOpen('INBOX')
    await there.messageDelete('10:19,190:200')
    const check = async () => {
      const { code, stdout, stderr } = await letterlock(commandOf(target, source), {
        input: PASSWORDS
      })
      assert.equal(code, 0, stderr)
      const here = await target.read()
      const [found, wanted] = [await snapshot(here), await snapshot(there)]
      for (const name of ['INBOX', 'Lists', 'Lists/Größe']) {
        assert.deepEqual(found[name], wanted[name], name)
      }
      const uses = (await here.list()).map(({ path, specialUse }) => [path, specialUse])
      assert.ok(uses.some(([path, use]) => path === 'Gesendet' && use === '\\Sent'))
      assert.ok(!uses.some(([path]) => path === 'Sent'), 'the empty one of a new account is gone')
      return stdout
    }
    assert.match(await check(), /^copied 239, /)
    await there.mailboxOpen('Lists')
    await there.messageDelete('2:4')
    await there.messageFlagsAdd('1', ['\\Answered', 'Later'])
    await fill(there, { count: 7, folders: ['INBOX'] })
    assert.match(
      await check(),
      /^copied 7, there already 236, flags changed 1, deleted 3, failed 0/
    )
  }
)

test(
  `from Dovecot, ${MANY} messages, the connections cut and the copy killed three times: once and only once, UIDs kept`,
  { skip: dovecotIsMissing },
  async (t) => {
    const target = await startTarget(t)
    await untilOlder(await target.read(), ['INBOX'])
    const { port } = await startDovecot(t)
    const way = await wayTo(t, port)
    const source = { port: way.port, user: 'u1' }
    // One connection: Dovecot 2.3 ends a session that meets others in its list of mailboxes ("Resource deadlock avoided").
    const there = await connect(t, { port, user: 'u1' })
    await fill(there, { count: 20, folders: ['Lists', 'Lists.Größe'] })
    await fill(there, { count: MANY - 20, folders: ['INBOX'] })
    await there.mailboxOpen('INBOX')
    await there.messageDelete('10:19')
    const wanted = MANY - 10

    let bytes = 0
    for await (const { size } of there.fetch('1:*', { size: true })) bytes += size ?? 0
    const here = await target.read()
    const countHere = async () => {
      const status = await here.status('INBOX', { messages: true })
      return (status && status.messages) || 0
    }
    // Three rounds of 28 % leave something to do; and a quarter is more than the three batches of 100 that are under way
    // at once over two connections, so that in each round one becomes whole.
    const command = [MAIN, ...commandOf(target, source, ['--connections', '2'])]
    let before = 0
    for (let round = 1; round <= 3; round++) {
      way.allow(bytes * 0.03)
      const child = spawn(process.execPath, command, {
        stdio: ['pipe', 'ignore', 'ignore'],
        env: { ...process.env, LETTERLOCK_AUTH_ARGON2_MEMORY_KIB: String(19 * 1024) }
      })
      const closed = once(child, 'close')
      child.stdin.end(PASSWORDS)
      // The connections are lost once on the way; the copy makes new ones.
      await way.spent()
      assert.ok(way.cut() > 0)
      way.allow(bytes * 0.25)
      await way.spent()
      while ((await countHere()) === before) await sleep(5)
      child.kill('SIGKILL')
      assert.deepEqual(await closed, [null, 'SIGKILL'])
      before = await countHere()
      t.diagnostic(`${before} messages were there when it was killed`)
    }
    assert.ok(before < wanted, 'there was something left to do')
    way.allow(Infinity)
    const last = await letterlock(commandOf(target, source), { input: PASSWORDS })
    assert.equal(last.code, 0, last.stderr)
    assert.match(last.stdout, / failed 0, /)
    t.diagnostic(last.stdout.trim())
    const compare = async () => {
      const [found, expected] = [await snapshot(await target.read()), await snapshot(there)]
      for (const name of ['INBOX', 'Lists', 'Lists/Größe'])
        assert.deepEqual(found[name], expected[name], name)
    }
    await compare()

    // Some days later.
    await there.mailboxOpen('INBOX')
    await there.messageFlagsAdd('1:7', ['\\Answered', 'Later'])
    await there.messageDelete('20:29')
    await fill(there, { count: 25, folders: ['INBOX'] })
    const again = await letterlock(commandOf(target, source), { input: PASSWORDS })
    assert.match(
      again.stdout,
      new RegExp(
        `^copied 25, there already ${wanted - 10}, flags changed 7, deleted 10, failed 0, `
      )
    )
    await compare()
  }
)
