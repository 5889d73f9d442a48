/**
 * FETCH of a body sets \Seen without waiting for the disk (RFC 3501 §6.4.5), and the client knows of it before the view of
 * the mailbox does. What others or the client itself do with the flag meanwhile is told as it is.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

test('a message that is marked as unread after it was read is told to be unread (RFC 3501 §6.4.6)', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  await client.command('APPEND INBOX', MAIL)
  await client.command('SELECT INBOX')
  assert.match(await client.command('FETCH 1 BODY[TEXT]'), /FLAGS \(\\Seen/)
  assert.doesNotMatch(await client.command('STORE 1 -FLAGS (\\Seen)'), /Seen/)
  const answers = await Promise.all([
    client.command('FETCH 1 BODY[TEXT]'),
    client.command('STORE 1 -FLAGS (\\Seen)'),
    client.command('FETCH 1 FLAGS')
  ])
  assert.match(answers[0], /FLAGS \(\\Seen/)
  for (const answer of answers.slice(1)) assert.doesNotMatch(answer, /Seen/)
})

test('what another session marks as unread is not told to be read by one that has just read it', async (t) => {
  const server = await startImapServer(t)
  const reader = await loggedIn(t, server)
  const other = await loggedIn(t, server)
  const count = 20
  for (let number = 1; number <= count; number++) await reader.command('APPEND INBOX', MAIL)
  for (const client of [reader, other]) await client.command('SELECT INBOX')
  for (let number = 1; number <= count; number++) {
    await Promise.all([
      other.command(`STORE ${number} +FLAGS.SILENT (\\Seen)`),
      reader.command(`FETCH ${number} BODY[TEXT]`)
    ])
    await reader.command('NOOP')
    await other.command(`STORE ${number} -FLAGS.SILENT (\\Seen)`)
    assert.doesNotMatch(await reader.command('NOOP'), /Seen/)
    assert.doesNotMatch(await reader.command(`FETCH ${number} FLAGS`), /Seen/)
  }
})
