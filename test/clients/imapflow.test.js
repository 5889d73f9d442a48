import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { ImapFlow } from 'imapflow'
import { madeMessage, PASSWORD, sampleMessages, startMailServer } from '../helpers/programs.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {import('../helpers/programs.js').MailServer} mail
 * @param {{ password?: string, isTls?: boolean }} [options]
 */
async function connect(t, mail, { password = PASSWORD, isTls = true } = {}) {
  const flow = new ImapFlow({
    host: 'localhost',
    port: isTls ? mail.ports.imaps : mail.ports.imap,
    secure: isTls,
    ...(!isTls && { doSTARTTLS: true }),
    auth: { user: 'anna@example.org', pass: password },
    tls: { ca: readFileSync(mail.certificate) },
    logger: false
  })
  flow.on('error', () => {})
  t.after(() => flow.close())
  await flow.connect()
  return flow
}

test('imapflow speaks IMAP4rev2: it manages mailboxes, appends, fetches byte for byte, searches and moves', async (t) => {
  const mail = await startMailServer(t)
  const flow = await connect(t, mail)
  assert.ok(flow.enabled.has('IMAP4REV2'))
  const made = await flow.mailboxCreate('Post')
  assert.equal(made.created, true)
  assert.equal((await flow.mailboxCreate(['Post', 'Größe'])).created, true)
  assert.equal((await flow.mailboxCreate(['Post', 'Q & A'])).created, true)
  const list = await flow.list({ statusQuery: { messages: true, unseen: true } })
  assert.deepEqual(list.map(({ path }) => path).sort(), [
    'Archive',
    'Drafts',
    'INBOX',
    'Junk',
    'Post',
    'Post/Größe',
    'Post/Q & A',
    'Sent',
    'Trash'
  ])
  assert.equal(list.find(({ path }) => path === 'Trash')?.specialUse, '\\Trash')

  const messages = [...sampleMessages(15), madeMessage('last')]
  const uids = []
  for (const [index, bytes] of messages.entries()) {
    const date = new Date(Date.UTC(2026, 2, 1 + index))
    const appended = await flow.append('Post', bytes, index % 3 === 0 ? ['\\Seen'] : [], date)
    assert.ok(appended && appended.uid)
    uids.push(appended.uid)
  }
  const lock = await flow.getMailboxLock('Post')
  const query = {
    uid: true,
    flags: true,
    envelope: true,
    bodyStructure: true,
    source: true,
    internalDate: true
  }
  const fetched = await flow.fetchAll('1:*', query)
  assert.deepEqual(
    fetched.map(({ uid }) => uid),
    uids
  )
  for (const [index, message] of fetched.entries()) {
    assert.ok(message.source?.equals(/** @type {Buffer} */ (messages[index])), `message ${index}`)
    assert.equal(new Date(message.internalDate ?? 0).getUTCDate(), index + 1)
  }
  assert.equal(fetched.at(-1)?.envelope?.subject, 'number last')
  assert.deepEqual(await flow.search({ subject: 'number last' }, { uid: true }), [uids.at(-1)])
  assert.deepEqual(await flow.search({ body: 'Grüße last' }, { uid: true }), [uids.at(-1)])
  const part = await flow.download(String(uids.at(-1)), '1', { uid: true })
  assert.ok(part.content)
  assert.match(String(await buffer(part.content)), /^Grüße last/)

  await flow.messageFlagsAdd(uids.slice(0, 3), ['\\Flagged', 'Work'], { uid: true })
  assert.deepEqual(await flow.search({ keyword: 'Work' }, { uid: true }), uids.slice(0, 3))
  const copied = await flow.messageCopy(uids.slice(0, 2), 'Post/Größe', { uid: true })
  assert.deepEqual(copied && [...(copied.uidMap ?? [])], [
    [uids[0], 1],
    [uids[1], 2]
  ])
  const moved = await flow.messageMove(uids.slice(2, 4), 'Post/Größe', { uid: true })
  assert.deepEqual(moved && [...(moved.uidMap ?? [])], [
    [uids[2], 3],
    [uids[3], 4]
  ])
  assert.equal(await flow.messageDelete(uids.slice(4, 5), { uid: true }), true)
  assert.deepEqual(await flow.search({ answered: true }, { uid: true }), [])
  const status = await flow.status('Post', { messages: true, deleted: true, highestModseq: true })
  assert.equal(status && status.messages, messages.length - 3)
  assert.equal(status && status.deleted, 0)
  lock.release()
  const renamed = await flow.mailboxRename('Post', 'Letters')
  assert.equal(renamed.newPath, 'Letters')
  assert.ok((await flow.list()).some(({ path }) => path === 'Letters/Größe'))
  await flow.logout()
})

test('imapflow in IDLE hears of mail that comes, of flags and of expunges', async (t) => {
  const mail = await startMailServer(t)
  const flow = await connect(t, mail, { isTls: false })
  await flow.append('INBOX', madeMessage(1))
  const lock = await flow.getMailboxLock('INBOX')
  const other = await mail.login()
  await other.command('SELECT INBOX')
  const idle = flow.idle()

  const exists = once(flow, 'exists')
  await other.command('APPEND INBOX', madeMessage(2))
  assert.equal((await exists)[0].count, 2)
  const flags = once(flow, 'flags')
  await other.command('STORE 1 +FLAGS (\\Flagged)')
  assert.ok((await flags)[0].flags.has('\\Flagged'))
  const expunge = once(flow, 'expunge')
  await other.command('STORE 1 +FLAGS.SILENT (\\Deleted)')
  await other.command('EXPUNGE')
  assert.equal((await expunge)[0].seq, 1)
  lock.release()
  await flow.logout()
  await idle
})

test('imapflow is told that a password is wrong', async (t) => {
  const mail = await startMailServer(t)
  await assert.rejects(connect(t, mail, { password: 'guess' }), { authenticationFailed: true })
})
