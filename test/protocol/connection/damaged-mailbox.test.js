/**
 * A mailbox with a damaged page: whoever has it selected is told so, and all the others go on.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { appendMany, appendOne } from '../../helpers/account-folder.js'
import { storeBeside } from '../../helpers/beside.js'
import { damagePage } from '../../helpers/damage-page.js'
import { SMALL_MESSAGE } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient } from '../../helpers/transcript.js'

const LITERAL = `{${SMALL_MESSAGE.length}+}\r\n${SMALL_MESSAGE}`

/**
 * @param {LineClient} client
 * @param {string} command
 * @returns {Promise<string>} the tagged reply, without its tag
 */
const replyTo = async (client, command) =>
  (await client.command(command)).at(-1)?.replace(/^\S+ /, '') ?? ''

test('only who has the damaged mailbox selected hears of it, and can leave it', async (t) => {
  const server = await startImapServer(t)
  const other = await storeBeside(t, server)
  await other.createMailbox('Broken')
  await appendMany(other, 'Broken', 2000)
  const inBroken = await LineClient.connect(server)
  await inBroken.login()
  await inBroken.command('SELECT Broken')
  const inInbox = await LineClient.connect(server)
  await inInbox.login()
  await inInbox.command('SELECT INBOX')

  await other.checkpoint()
  const { db } = other.searchAccess.database
  const leaves = /** @type {number[]} */ (
    db
      .prepare("SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf'")
      .pluck()
      .all()
  )
  for (const page of leaves.slice(5, -5)) damagePage(join(other.folder, 'mail.db'), page)
  await appendMany(other, 'Broken', 1)
  await appendMany(other, 'INBOX', 2)

  assert.ok((await inInbox.command('NOOP')).includes('* 2 EXISTS'))
  assert.match(await replyTo(inBroken, 'FETCH 1 FLAGS'), /^NO \[CORRUPTION\]/)
  assert.match(await replyTo(inInbox, 'FETCH 1 FLAGS'), /^OK/)
  assert.match(await replyTo(inBroken, 'SEARCH ALL'), /^NO \[CORRUPTION\]/)
  // It is in the file, and durable.
  assert.match(await replyTo(inInbox, `APPEND Broken ${LITERAL}`), /^OK \[APPENDUID \d+ 2002\]/)
  assert.match(await replyTo(inBroken, 'UNSELECT'), /^OK/)
  assert.match(await replyTo(inBroken, 'SELECT Broken'), /^NO \[CORRUPTION\]/)
  assert.match(await replyTo(inBroken, 'SELECT INBOX'), /^OK/)
  inBroken.close()
  inInbox.close()
})

test('a FETCH that meets a damaged message has set \\Seen of those behind it too, and tells so', async (t) => {
  const server = await startImapServer(t)
  const other = await storeBeside(t, server)
  const noise = () => randomBytes(1_000_000).toString('base64')
  for (const nth of [1, 2, 3])
    await appendOne(other, 'INBOX', Buffer.from(`Subject: ${nth}\r\n\r\n${noise()}`))
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('SELECT INBOX')
  // Where the parts are is known from then on.
  await client.command('FETCH 1:3 BODYSTRUCTURE')
  await other.checkpoint()
  const { db } = other.searchAccess.database
  const pages = /** @type {number[]} */ (
    db
      .prepare(
        "SELECT pageno FROM dbstat WHERE name = 'content_chunks' AND pagetype = 'overflow' ORDER BY path"
      )
      .pluck()
      .all()
  )
  // Nearly all of the second: it is met before the first byte of it has gone out.
  const third = Math.floor(pages.length / 3)
  for (const page of pages.slice(third + 4, 2 * third - 4))
    damagePage(join(other.folder, 'mail.db'), page)
  const lines = await client.command('FETCH 1:3 BODY[TEXT]')
  assert.match(lines.at(-1) ?? '', /NO \[CORRUPTION\]/)
  const told = lines.filter((line) => line.includes('FLAGS (\\Seen'))
  assert.match(told[0] ?? '', /^\* 1 FETCH \(FLAGS \(\\Seen \\Recent\) BODY\[TEXT\] \{\d+\}$/)
  assert.match(told[1] ?? '', /^\* 2 FETCH \(FLAGS \(\\Seen/)
  assert.match(told[2] ?? '', /^\* 3 FETCH \(FLAGS \(\\Seen/)
  const flags = await client.command('FETCH 1:3 FLAGS')
  assert.equal(flags.filter((line) => line.includes('\\Seen')).length, 3)
  client.close()
})

test('where nothing can be read of what others have written, one can still leave', async (t) => {
  const server = await startImapServer(t)
  const other = await storeBeside(t, server)
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('SELECT INBOX')
  const second = await LineClient.connect(server)
  await second.login()
  await second.command('SELECT INBOX')
  const third = await LineClient.connect(server)
  await third.login()
  await third.command('SELECT INBOX')
  await other.checkpoint()
  const { db } = other.searchAccess.database
  const pages = /** @type {number[]} */ (
    db.prepare("SELECT pageno FROM dbstat WHERE name = 'keywords'").pluck().all()
  )
  for (const page of pages) damagePage(join(other.folder, 'mail.db'), page)
  await appendMany(other, 'INBOX', 1)

  assert.match(await replyTo(client, 'NOOP'), /^NO \[CORRUPTION\]/)
  assert.match(await replyTo(client, 'UNSELECT'), /^OK/)
  assert.match(await replyTo(client, 'LOGOUT'), /^OK/)
  assert.equal(await client.line(), null)
  // RFC 3501 §6.3.1: after a SELECT that fails, no mailbox is selected.
  assert.match(await replyTo(second, 'SELECT Drafts'), /^NO \[CORRUPTION\]/)
  assert.match(await replyTo(second, 'CHECK'), /^BAD/)
  second.close()
  assert.match(await replyTo(third, 'CLOSE'), /^OK/)
  third.close()
})
