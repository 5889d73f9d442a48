/**
 * What `letterlock check` finds: one contradiction at a time, made in a copy of a sound file.
 */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { verifyAll } from '../../../src/store/verify.js'
import {
  accountFolder,
  appendOne,
  makeMessage,
  scratchFolder
} from '../../helpers/account-folder.js'

/** Of INBOX, the first mailbox: messages.id less the UID. */
const INBOX = 2 ** 32

/** The first segment of the search index: search_blocks.id less the number of the block. */
const SEGMENT = 2 ** 21

/** Contents 1 and 2 are in the search index, two more wait for it. */
const CONTRADICTIONS = /** @type {ReadonlyArray<readonly [string, string]>} */ ([
  ['UPDATE mailboxes SET uid_next = 2 WHERE id = 1', 'UID or modseq beyond those of mailbox 1'],
  ['UPDATE messages SET modseq = 999', 'UID or modseq beyond those of mailbox 1'],
  ['UPDATE mailboxes SET total_bytes = total_bytes + 1 WHERE id = 1', 'counters of mailbox 1'],
  [
    `UPDATE messages SET id = ${7 * INBOX} + 1 WHERE content_id = 1`,
    'messages of no mailbox, number 7'
  ],
  ['UPDATE messages SET size = size + 1 WHERE content_id = 1', `size of message ${INBOX + 1}`],
  ['UPDATE contents SET staged_at = 1 WHERE id = 1', `size of message ${INBOX + 1}`],
  [
    'DELETE FROM messages WHERE content_id = 2',
    'content without a message and not left to the sweep, number 2'
  ],
  ['UPDATE messages SET content_id = 77 WHERE content_id = 1', '1 reference to nothing'],
  [
    'UPDATE search_state SET listed_through = 1000',
    'content neither in the search index nor waiting for it, number 3'
  ],
  [
    'DELETE FROM search_header WHERE rowid = 2',
    'content neither in the search index nor waiting for it, number 2'
  ],
  [
    'UPDATE search_state SET listed_through = 1',
    'search index of no content, or of one that waits for it, number 2'
  ],
  [
    'INSERT INTO search_listed (content_id) VALUES (1)',
    'search index of no content, or of one that waits for it, number 1'
  ],
  [
    `INSERT INTO search_header (rowid, subject, sender, recipient, copy) VALUES (99, 'a', 'b', 'c', 'd')`,
    'search index of no content, or of one that waits for it, number 99'
  ],
  [
    'INSERT INTO search_listed (content_id) VALUES (90)',
    'content on the list of the search index that is not complete, or above its mark, number 90'
  ],
  [
    'INSERT INTO search_listed (content_id) VALUES (3)',
    'content on the list of the search index that is not complete, or above its mark, number 3'
  ],
  ['DELETE FROM search_segments', 'content in no segment of the index, number 1'],
  ['DELETE FROM search_blocks', 'search index: ACCOUNT_DAMAGED'],
  ['UPDATE search_segments SET last = base', 'segment of the search index out of order, number 1'],
  [
    `UPDATE search_blocks SET data = (SELECT data FROM search_blocks b WHERE b.id = ${SEGMENT + 2})
     WHERE id = ${SEGMENT + 1}`,
    'segment of the search index out of order, number 1'
  ],
  [`UPDATE content_chunks SET data = x'00' WHERE id / 65536 = 2`, 'content 2: ACCOUNT_DAMAGED'],
  [
    'INSERT INTO shared_parts (id, hash, size) VALUES (50, zeroblob(32), 10)',
    'shared part that no content uses and that is not left to the sweep, number 50'
  ],
  [
    `INSERT INTO content_chunks (id, codec, data) VALUES (99 << 16, 0, x'00')`,
    'chunks of neither a content nor a shared part, number 99'
  ]
])

/** A message that is about to come is no contradiction, nor is a shared part that waits for the sweep. */
const SOUND = [
  'SELECT 1',
  'INSERT INTO contents (id, hash, size, chunk_size, staged_at) VALUES (0, NULL, 1, 131072, 1)',
  'INSERT INTO shared_parts (id, hash, size) VALUES (50, NULL, 10)'
]

test('each contradiction between rows is found and named by a number', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  for (const text of ['one', 'two']) await appendOne(store, 'INBOX', makeMessage(text))
  await store.indexSearch()
  for (const text of ['three', 'four']) await appendOne(store, 'INBOX', makeMessage(text))
  await store.close()
  const sound = join(account.folder, 'mail.db')
  const path = join(await scratchFolder(t), 'mail.db')
  const reportAfter = (/** @type {string} */ sql) => {
    copyFileSync(sound, path)
    const { db } = openEncryptedDatabase({ path, key: account.key, cipher: 'chacha20' })
    try {
      db.pragma('foreign_keys = OFF')
      db.exec(sql)
      const told = { done: 0, total: 0 }
      return { told, ...verifyAll(db, (progress) => Object.assign(told, progress)) }
    } finally {
      db.close()
    }
  }
  const bytes = ['one', 'two', 'three', 'four'].map((text) => makeMessage(text).length)
  const total = bytes.reduce((sum, size) => sum + size, 0)
  for (const sql of SOUND) {
    const { problems, ...report } = reportAfter(sql)
    assert.deepEqual(problems, [], sql)
    assert.deepEqual([report.contents, report.bytes], [4, total])
    assert.deepEqual(report.told, { done: total, total })
  }
  for (const [sql, problem] of CONTRADICTIONS) {
    const { problems } = reportAfter(sql)
    assert.ok(problems.includes(problem), `${sql}: ${problems.join('; ')}`)
  }
})

test('however much else is wrong, the owner is told which messages cannot be read', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  for (const text of ['one', 'two']) await appendOne(store, 'INBOX', makeMessage(text))
  for (let n = 0; n < 120; n++) await store.createMailbox(`Box ${n}`)
  await store.close()
  const path = join(account.folder, 'mail.db')
  const { db } = openEncryptedDatabase({ path, key: account.key, cipher: 'chacha20' })
  t.after(() => db.close())
  db.exec('UPDATE mailboxes SET total_bytes = total_bytes + 1')
  db.exec('UPDATE content_chunks SET data = zeroblob(9) WHERE id >> 16 = 1')
  const { problems, unreadable } = verifyAll(db, () => {})
  assert.ok(problems.includes('content 1: ACCOUNT_DAMAGED'), problems.at(-1))
  assert.deepEqual(unreadable, [{ mailbox: 'INBOX', uid: 1 }])
})

test('a page that cannot be read is one finding, and what else is wrong is told as well', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  for (const text of ['one', 'two']) await appendOne(store, 'INBOX', makeMessage(text))
  await store.close()
  const path = join(account.folder, 'mail.db')
  const open = () => openEncryptedDatabase({ path, key: account.key, cipher: 'chacha20' }).db
  const sound = open()
  sound.exec('UPDATE mailboxes SET total_bytes = total_bytes + 1 WHERE id = 1')
  const page = sound.prepare("SELECT pageno FROM dbstat WHERE name = 'contents'").pluck().get()
  sound.close()
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(Number(page) * 4096 - 100) ^ 1, Number(page) * 4096 - 100)
  writeFileSync(path, bytes)
  const db = open()
  t.after(() => db.close())
  const { problems, messages } = verifyAll(db, () => {})
  assert.ok(problems.includes('contents: SQLITE_CORRUPT'), problems.join('; '))
  assert.equal(messages, 2)
})
