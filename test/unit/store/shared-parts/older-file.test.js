/**
 * Mailboxes from before attachments were shared.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { accountFolder, appendOne, rawHandle, readBytes } from '../../../helpers/account-folder.js'
import { mailWith, noise } from '../../../helpers/attachments.js'

const MIGRATION = new URL('../../../../migrations/account/0011-shared-parts.sql', import.meta.url)

test('contents of an older file come on the list in the order in which they lie', async (t) => {
  const account = await accountFolder(t)
  await account.create()
  const db = rawHandle(account)
  t.after(() => db.close())
  const [insert] = readFileSync(MIGRATION, 'utf8').match(/^INSERT [^;]+/m) ?? []
  const plan = /** @type {{ detail: string }[]} */ (
    db.prepare(`EXPLAIN QUERY PLAN ${insert}`).all()
  )
  assert.deepEqual(
    plan.map(({ detail }) => detail),
    ['SCAN contents']
  )
})

test('the attachments of a mailbox that an older program has made are found', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const bytes = noise('attachment', 20_000)
  const mails = [1, 2, 3].map((number) => mailWith(`mail ${number}`, [bytes]))
  for (const mail of mails) await appendOne(store, 'INBOX', mail)
  await appendOne(store, 'INBOX', Buffer.from('Subject: short\r\n\r\nNo attachment.\r\n'))
  await store.indexSearch()
  await store.close()
  const older = rawHandle(account)
  const added = ['part_queue', 'part_places', 'shared_part_uses', 'shared_parts']
  const later = ['message_signatures', 'signature_blocks', 'message_rests', 'rest_blocks']
  for (const table of [...added, ...later]) older.exec(`DROP TABLE ${table}`)
  older.exec('ALTER TABLE account DROP COLUMN lifts')
  older.exec('DELETE FROM schema_migrations WHERE version >= 11')
  older.close()

  const again = await account.open()
  const { view } = await again.openView('INBOX')
  const db = rawHandle(account)
  t.after(() => db.close())
  const count = (/** @type {string} */ table) =>
    db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
  assert.equal(count('part_queue'), mails.length)
  // With the next mail that a thread indexes.
  await appendOne(again, 'INBOX', Buffer.from(`Subject: long\r\n\r\n${'word '.repeat(20_000)}`))
  await again.indexSearch()
  assert.equal(count('part_queue'), 0)
  assert.equal(count('shared_part_uses'), mails.length)
  for (const [index, mail] of mails.entries())
    assert.ok((await readBytes(again, view, index + 1)).equals(mail))
  assert.deepEqual((await again.verify()).problems, [])
})
