/**
 * `letterlock import imap`: an account is copied while it is used, again and again, and what a copy fails at is told.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startImapSource } from '../helpers/imap-source.js'
import {
  commandOf,
  connect,
  fill,
  makeTarget,
  PASSWORDS,
  snapshot,
  startTarget
} from '../helpers/moved-account.js'
import {
  createAccounts,
  letterlock,
  MAIN,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'

/** @import { ImapFlow } from 'imapflow' */
/** @import { Place } from '../helpers/moved-account.js' */

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
  assert.match(first.stdout, /^copied 61, there already 0, flags changed 0, deleted 0, failed 0/m)
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
  assert.match(second.stdout, /^copied 5, there already 58, flags changed 3, deleted 3, failed 0/m)
  const again = await target.read()
  assert.deepEqual(await messagesOf(again), await messagesOf(there))

  const third = await letterlock(commandOf(target, source), { input: PASSWORDS })
  assert.match(third.stdout, /^copied 0, there already 63, flags changed 0, deleted 0, failed 0/m)
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
  assert.match(kept.stdout, /60 messages are gone at the source, and left here/)
  assert.ok((await here.noop()) === undefined)
  assert.equal(here.mailbox && here.mailbox.exists, 60)
  const always = commandOf(target, source, ['--expunge', 'always'])
  const gone = await letterlock(always, { input: PASSWORDS })
  assert.match(gone.stdout, /^copied 0, there already 0, flags changed 0, deleted 60/m)
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
  assert.match(stdout, /^1 account is there, 0 in part, 1 not at all$/m)
  assert.match(stderr, /ann@example\.org: letterlock: .*refused the login/)
})

test('a folder to be left out that no account of a list has is told, and one that some have is not', async (t) => {
  const uidValidity = 7
  const bytes = Buffer.from('Subject: one\r\n\r\nbody\r\n')
  const messages = [{ uid: 1, bytes }]
  const INBOX = { uidValidity, messages }
  const two = await startImapSource(t, { folders: { INBOX, Spam: { uidValidity, messages } } })
  const one = await startImapSource(t, { folders: { INBOX } })
  const target = await makeTarget(t)
  await createAccounts(target.data, ['ben@example.org'])
  const list = join(target.data, '..', 'list.tsv')
  const lines = [
    `imap://ann@127.0.0.1:${one.port}\tpass\t${target.account}\tpass`,
    `imap://ben@127.0.0.1:${two.port}\tpass\tben@example.org\tpass`
  ]
  writeFileSync(list, `${lines.join('\n')}\n`, { mode: 0o600 })
  const args = ['import', 'imap', '--list', list, '--data', target.data, '--plaintext']
  const exclude = ['--exclude', 'Spam', '--exclude', 'Jnuk', '--expunge', 'never']
  const first = await letterlock([...args, ...exclude])
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^ben@example\.org: done: copied 1, /m)
  assert.match(first.stdout, /^--exclude Jnuk: none of the sources has such a folder$/m)
  assert.doesNotMatch(first.stdout, /Spam/)

  messages.length = 0
  const second = await letterlock([...args, '--expunge', 'never'])
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /^ben@example\.org: 1 message is gone at the source, and left/m)
  assert.doesNotMatch(second.stdout, /--exclude/)
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
  const { code, stdout, stderr } = await letterlock(
    commandOf(target, source, ['--exclude', 'Junk']),
    { input: PASSWORDS }
  )
  assert.equal(code, 1)
  // A name that is misspelt would leave out nothing without a word.
  assert.match(stdout, /^--exclude Junk: the source has no such folder$/m)
  assert.match(stdout, /^copied 100, there already 0, /m)
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
