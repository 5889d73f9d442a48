/**
 * A process that does everything a store can do, with marked words in messages, folders and keywords:
 *
 *     secret-work.js <account folder> <look | work>
 *
 * With `look` it prints what the files hold before they are closed, for the parent to search.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { createAccountStore } from '../../src/store/account-store.js'
import { runFileJob } from '../../src/store/file-work.js'
import { fileOptions } from '../../src/store/port/options.js'
import { repairMailFile } from '../../src/store/salvage/repair-file.js'
import { systemClock } from '../../src/support/clock.js'
import { appendOne, stage, sweepAll } from './account-folder.js'

const [folder = '', mode] = process.argv.slice(2)
const mark = (/** @type {string} */ what) => ['Zz9marker', what, 'Qx7'].join('')
const key = Buffer.alloc(32, 9)
// A word that the parent's search must find, to show that it looks in the right place.
writeFileSync(`${folder}.control`, 'plain-control-word')
const store = await createAccountStore({
  folder,
  key,
  clock: systemClock,
  config: { checkpointBytes: 65_536 }
})

/** @param {number} repeat */
const message = (repeat) =>
  Buffer.from(`Subject: ${mark('subject')}\r\n\r\n${`${mark('body')} text\r\n`.repeat(repeat)}`)

const { view } = await store.openView('INBOX')
await store.createMailbox(mark('folder'))
await store.setSubscribed(mark('folder'), true)
for (const repeat of [1, 2, 100, 30_000])
  await appendOne(store, 'INBOX', message(repeat), [mark('keyword')])
const content = await stage(store, message(3))
const importKey = Buffer.from(mark('import'))
await store.appendMessages('INBOX', [
  { content, flags: [], internalDate: null, importKey, spoolName: mark('spool') },
  ...Array.from({ length: 2100 }, () => ({ content, flags: [], internalDate: null }))
])
const uids = [...view.uids.subarray(0, view.length)]
await store.readMessages(view.mailboxId, uids.slice(0, 500), {
  envelope: true,
  header: true,
  search: true
})
await store.changeFlags({ view, uids, action: 'add', flags: ['\\Seen', mark('keyword')] })
await store.copyMessages({ from: view, uids, toMailbox: mark('folder') })
await store.moveMessages({ from: view, uids: uids.slice(0, 3), toMailbox: 'Trash' })
await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
if (mode === 'look') {
  // Another process looks: this one must not open the files beside SQLite.
  const files = readdirSync(folder).map((name) => join(folder, name))
  const { stdout } = spawnSync('cat', files, { maxBuffer: 2 ** 30 })
  process.stdout.write(stdout)
}
await store.expunge({ view, uids: null })
await store.renameMailbox(mark('folder'), `${mark('folder')}2/${mark('folder')}`)
await store.deleteMailbox(`${mark('folder')}2/${mark('folder')}`)
await sweepAll(store)
await store.upkeep.releasePages()
await store.upkeep.optimize()
await store.upkeep.vacuum()
await store.upkeep.quickCheck()
await store.verify()
await store.checkpoint()
await store.close()

// What SQLite does with temporary storage: maintenance rewrites the file, a sort and an index build may spill.
const { db } = openEncryptedDatabase({
  path: join(folder, 'mail.db'),
  key,
  cipher: 'chacha20',
  isBlocking: true
})
db.exec('CREATE TABLE spill (word TEXT)')
const insert = db.prepare('INSERT INTO spill VALUES (?)')
db.exec('BEGIN')
// So many rows are more than the page cache holds.
for (let row = 0; row < 12_000; row++)
  insert.run(`${row % 977} ${mark('spill')} ${'x'.repeat(200)}`)
db.exec('COMMIT')
db.prepare('SELECT word FROM spill ORDER BY word DESC').all()
db.exec('CREATE INDEX spill_by_word ON spill (word)')
db.exec('CREATE TEMP TABLE copied AS SELECT word FROM spill')
db.exec("UPDATE spill SET word = word || '.'")
db.exec('DELETE FROM spill WHERE rowid % 2 = 0')
db.exec('VACUUM')
db.close()
const file = /** @type {const} */ ({ folder, cipher: 'chacha20', timeoutMs: 5000 })
await runFileJob({ ...file, kind: 'compact' }, { key })
await runFileJob({ ...file, kind: 'keywords' }, { key })
await repairMailFile(fileOptions({ folder, key, clock: systemClock }), { timeoutMs: 5000 })
await runFileJob({ ...file, kind: 'convert', nextCipher: 'aegis-256' }, { key })
