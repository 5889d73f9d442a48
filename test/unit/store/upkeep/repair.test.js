/**
 * Salvage: whatever page is damaged, what is on the others comes out whole.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../../src/database/open.js'
import { repairMailFile } from '../../../../src/store/salvage/repair-file.js'
import { convertCipher } from '../../../../src/store/mail-file.js'
import { fileOptions } from '../../../../src/store/port/options.js'
import { imapImportKey } from '../../../../src/store/moving-in/import-key.js'
import { systemClock } from '../../../../src/support/clock.js'
import {
  aliveUids,
  appendMany,
  appendOne,
  makeMessage,
  stage
} from '../../../helpers/account-folder.js'
import { PAGE_BYTES, damagePage, pagesOf } from '../../../helpers/damage-page.js'
import { everything, fill, setUp } from '../../../helpers/repair.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/** Every page in the long run, some in the suite. */
const PAGE_STEP = process.env['LETTERLOCK_TEST_TORTURE'] ? 1 : 7

test('a sound file comes out of a repair as it was: UIDs, flags, MODSEQs, names, bytes', async (t) => {
  const { create, open, repair, path } = await setUp(t)
  const store = await create()
  await fill(store)
  const before = await everything(store)
  const mailboxes = await store.listMailboxes()
  await store.close()

  const { report, keptFile } = await repair()
  assert.deepEqual(
    { ...report, bytes: 0, salvaged: 0 },
    {
      salvaged: 0,
      bytes: 0,
      lost: [],
      withoutFlags: [],
      recoveredMailboxes: [],
      gaps: 0
    }
  )
  assert.equal(report.salvaged, before.size)
  assert.ok(existsSync(keptFile) && keptFile.startsWith(`${path}.damaged-`))
  const again = await open()
  assert.deepEqual(await everything(again), before)
  assert.deepEqual(await again.listMailboxes(), mailboxes)
  await again.indexSearch()
  assert.deepEqual((await again.verify()).problems, [])
  // Ids go on where they were.
  const uid = await appendOne(again, 'INBOX', makeMessage('new'))
  assert.equal(uid, mailboxes.find(({ name }) => name === 'INBOX')?.uidNext)
})

test('a file of whose schema a page is lost is repaired, or left as it is, and that is said', async (t) => {
  const { create, repair, path, key, folder } = await setUp(t)
  await (await create()).close()
  const sound = join(folder, 'sound')
  copyFileSync(path, sound)
  const { db } = openEncryptedDatabase({ path, key, cipher: 'chacha20' })
  const pages = /** @type {number[]} */ (
    db
      .prepare("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema' AND pageno > 1")
      .pluck()
      .all()
  )
  db.close()
  let refused = 0
  for (const page of pages) {
    copyFileSync(sound, path)
    damagePage(path, page)
    const damaged = readFileSync(path)
    const refusal = await repair().then(
      () => null,
      (error) => error
    )
    if (refusal === null) continue
    assert.equal(refusal.code, 'ACCOUNT_DAMAGED', `page ${page}`)
    assert.match(refusal.detail, /only a backup can bring this mailbox back/)
    assert.ok(readFileSync(path).equals(damaged))
    refused++
  }
  assert.ok(refused > 0)
})

/** What an account remembers beside its mail. */
const MEMORIES = [
  ...['account', 'drained', 'expunged', 'imap_folders', 'import_log', 'keywords'],
  ...['past_uid_validities', 'subscriptions']
]

test('what is remembered beside the mail comes out of a repair as it was', async (t) => {
  const { create, repair, path, key } = await setUp(t)
  const store = await create()
  await fill(store)
  const source = { source: 'imap.example.org', path: 'Old', uidValidity: 7, modSeq: null }
  const { folder } = await store.movingIn.openFolder(source, 'Work/Old')
  const message = { flags: [], internalDate: null }
  await store.appendMessages('Archive', [
    { ...message, content: await stage(store, makeMessage('sent')), spoolName: 'spooled' },
    {
      ...message,
      content: await stage(store, makeMessage('imported')),
      importKey: imapImportKey(folder.id, 5),
      sourceFlags: '\\Seen'
    }
  ])
  await store.createMailbox('Gone')
  await appendOne(store, 'Gone', makeMessage('gone'))
  await store.deleteMailbox('Gone')
  await store.close()
  const { db: writer } = openEncryptedDatabase({ path, key, cipher: 'chacha20' })
  // Ahead of the clock, by which the repaired file's own mailboxes are made.
  writer.exec('UPDATE account SET last_uid_validity = last_uid_validity + 100000, lifts = 3')
  writer.close()
  const remembered = () => {
    const { db } = openEncryptedDatabase({ path, key, cipher: 'chacha20' })
    const tables = MEMORIES.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all()])
    db.close()
    return tables
  }
  const before = remembered()
  for (const [table, rows] of before) assert.ok(Number(rows?.length) > 0, String(table))
  await repair()
  assert.deepEqual(remembered(), before)
})

for (const table of ['garbage_mailboxes', 'garbage_contents', 'sqlite_sequence']) {
  test(`a file that has lost ${table}, which no message needs, gives all its mail`, async (t) => {
    const { create, open, repair, path, key } = await setUp(t)
    const store = await create()
    await fill(store)
    const uidNext = (await store.openView('INBOX')).view.uidNext
    const deleted = await store.createMailbox('Deleted')
    await store.deleteMailbox('Deleted')
    const before = await everything(store)
    await store.close()
    const { db } = openEncryptedDatabase({ path, key, cipher: 'chacha20' })
    db.unsafeMode()
    db.pragma('writable_schema = ON')
    db.prepare('DELETE FROM sqlite_schema WHERE name = ? OR tbl_name = ?').run(table, table)
    db.close()
    assert.deepEqual((await repair()).report.lost, [])
    const again = await open()
    assert.deepEqual(await everything(again), before)
    assert.ok((await appendOne(again, 'INBOX', makeMessage('new'))) >= uidNext)
    assert.ok((await again.createMailbox('New')).id > deleted.id)
    assert.deepEqual((await again.verify()).problems, [])
  })
}

test('whichever page is damaged, every message that does not need it is saved', async (t) => {
  const { create, open, repair, path, key, folder } = await setUp(t)
  const store = await create()
  await fill(store)
  const before = await everything(store)
  await store.close()
  const sound = join(folder, 'sound')
  copyFileSync(path, sound)
  const pages = statSync(path).size / PAGE_BYTES
  let saved = 0
  let lostAtMost = 0
  for (let page = 2; page <= pages; page += PAGE_STEP) {
    copyFileSync(sound, path)
    damagePage(path, page)
    /** @type {Awaited<ReturnType<typeof repair>>} */
    let outcome
    try {
      outcome = await repair()
    } catch (error) {
      // The schema itself has some of the first pages: nothing can be opened without it.
      assert.match(String(/** @type {any} */ (error).code), /ACCOUNT_DAMAGED|KEY_REJECTED/)
      assert.throws(() => openEncryptedDatabase({ path, key, cipher: 'chacha20' }), `page ${page}`)
      continue
    }
    const { lost, salvaged } = outcome.report
    saved++
    lostAtMost = Math.max(lostAtMost, lost.length)
    assert.equal(salvaged + lost.length, before.size, `page ${page}`)
    const again = await open()
    assert.deepEqual((await again.verify()).problems, [], `page ${page}`)
    const flagless = new Set(outcome.report.withoutFlags.map((m) => `${m.mailbox} ${m.uid}`))
    const renamed = outcome.report.recoveredMailboxes.length > 0
    for (const [name, after] of await everything(again)) {
      if (renamed && name.startsWith('Recovered')) continue
      assert.deepEqual(after.bytes, before.get(name)?.bytes, `page ${page}, ${name}`)
      if (!flagless.has(name)) assert.equal(after.flags, before.get(name)?.flags)
    }
    await again.close()
  }
  t.diagnostic(
    `${saved} repairs, at most ${lostAtMost} of ${before.size} messages lost by one page`
  )
  assert.ok(saved > 4)
  assert.ok(lostAtMost < before.size / 2)
})

test('mail programs that resynchronise are told what a repair has lost', async (t) => {
  const { create, open, repair, path } = await setUp(t)
  const store = await create()
  await appendMany(store, 'INBOX', 3)
  const head = Buffer.from('Content-Type: application/octet-stream\r\n\r\n')
  await appendOne(store, 'INBOX', Buffer.concat([head, randomBytes(400_000)]))
  const { view } = await store.openView('INBOX')
  const { mailboxId, highestModSeq } = view
  await store.close()
  // The body of the large one fills most of the file, and nothing but a body is in its middle.
  damagePage(path, Math.floor((statSync(path).size / PAGE_BYTES) * 0.75))
  const { report } = await repair()
  assert.deepEqual(
    report.lost.map(({ uid }) => uid),
    [4]
  )
  const again = await open()
  const answer = await again.readExpunged(mailboxId, highestModSeq)
  assert.deepEqual(answer, { isComplete: false, ranges: [] })
  assert.ok((await again.mailboxStatus('INBOX')).highestModSeq > highestModSeq)
})

test('a repair needs the mailbox alone, and leaves nothing behind that it gives up', async (t) => {
  const { create, repair, folder, path, key } = await setUp(t)
  const store = await create()
  await fill(store)
  await assert.rejects(repair(), { code: 'BUSY' })
  await store.close()
  const before = readdirSync(folder).sort()
  damagePage(path, 1)
  await assert.rejects(repair(), { code: 'KEY_REJECTED' })
  assert.deepEqual(readdirSync(folder).sort(), before)
  assert.throws(() => openEncryptedDatabase({ path, key, cipher: 'chacha20' }), {
    code: 'KEY_REJECTED'
  })
})

test('an import from another server goes on after a repair as it would have before', async (t) => {
  const { create, open, repair } = await setUp(t)
  const store = await create()
  const source = { source: 'ann@old.example', uidValidity: 7, modSeq: 1 }
  await store.createMailbox('Old')
  await store.createMailbox('Gone')
  const { folder: old } = await store.movingIn.openFolder({ ...source, path: 'Old' }, 'Old')
  const content = await stage(store, makeMessage('from there'))
  const importKey = imapImportKey(old.id, 5)
  const message = { content, flags: [], internalDate: null, importKey, sourceFlags: '', uid: 5 }
  await store.appendMessages('Old', [message])
  const { folder: gone } = await store.movingIn.openFolder({ ...source, path: 'Gone' }, 'Gone')
  const end = { sourceUidNext: 6, sourceModSeq: 1 }
  assert.deepEqual(await store.movingIn.finishFolder({ ...end, folderId: old.id }), {
    hasIdentity: true
  })
  const [before] = (await store.listMailboxes()).filter(({ name }) => name === 'Old')
  await store.deleteMailbox('Old')
  await store.close()

  assert.deepEqual((await repair()).report.lost, [])
  const again = await open()
  const found = await again.movingIn.findMailbox({ ...source, path: 'Gone' })
  assert.equal(found, 'Gone')
  const same = await again.movingIn.openFolder({ ...source, path: 'Gone' }, 'Archive')
  assert.deepEqual(same.folder, gone)
  // Another folder must not pass for one whose messages are known, nor take a UIDVALIDITY whose UIDs were given.
  const other = await again.movingIn.openFolder({ ...source, path: 'Other' }, 'Archive')
  assert.ok(other.folder.id > gone.id)
  assert.equal(await again.hasImportKey(imapImportKey(other.folder.id, 5)), false)
  assert.equal(before?.uidValidity, source.uidValidity)
  assert.deepEqual(await again.movingIn.finishFolder({ ...end, folderId: other.folder.id }), {
    hasIdentity: false
  })
})

test('what SQLite keeps about its pages may be damaged as well as the way to the messages', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const store = await create()
  await fill(store)
  const before = await everything(store)
  await store.close()
  damagePage(path, pagesOf(path, key, 'content_chunks', 'internal')[0] ?? 0)
  // The first page of the map of which page belongs to which.
  damagePage(path, 2)
  assert.deepEqual((await repair()).report.lost, [])
  assert.deepEqual(await everything(await open()), before)
})

test('a file that has been given another cipher is repaired with the pages that it has', async (t) => {
  const { create, open, path, key, folder } = await setUp(t)
  const store = await create()
  await fill(store)
  const before = await everything(store)
  await store.close()
  const cipher = /** @type {const} */ ('aegis-256')
  await convertCipher({ folder, key, cipher: 'chacha20', nextCipher: cipher, timeoutMs: 0 })
  damagePage(path, pagesOf(path, key, 'content_chunks', 'internal', cipher)[0] ?? 0)
  const options = fileOptions({ folder, key, cipher, clock: systemClock })
  assert.deepEqual((await repairMailFile(options, { timeoutMs: 0 })).report.lost, [])
  assert.deepEqual(await everything(await open({ cipher })), before)
})

test('a file whose end is missing gives what is left of it', async (t) => {
  const { create, open, repair, path } = await setUp(t)
  const store = await create()
  await fill(store)
  for (let i = 0; i < 4; i++) await appendOne(store, 'INBOX', randomBytes(100_000))
  const before = await everything(store)
  await store.close()
  truncateSync(path, statSync(path).size - 250_000)
  await assert.rejects(open(), { code: 'ACCOUNT_DAMAGED' })
  const { lost, salvaged } = (await repair()).report
  assert.ok(lost.length >= 1 && lost.length <= 4, `${lost.length} lost`)
  assert.equal(salvaged + lost.length, before.size)
  for (const [name, { bytes }] of await everything(await open()))
    assert.deepEqual(bytes, before.get(name)?.bytes)
})

test('what was imported and is lost may be imported again; what was deleted stays away', async (t) => {
  const { create, open, repair, path, key } = await setUp(t)
  const keyOf = (/** @type {string} */ name) => Buffer.alloc(32, name)
  const importOne = async (/** @type {AccountStore} */ store, /** @type {string} */ name) => {
    const content = await stage(store, randomBytes(60_000))
    const message = { content, flags: [], internalDate: null, importKey: keyOf(name) }
    const { uids } = await store.appendMessages('INBOX', [message])
    return uids[0] ?? 0
  }
  const store = await create()
  const deleted = await importOne(store, 'deleted')
  const kept = await importOne(store, 'kept')
  const lost = await importOne(store, 'lost')
  const { view } = await store.openView('INBOX')
  await store.changeFlags({ view, uids: [deleted], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  await store.checkpoint()
  await store.close()
  damagePage(path, pagesOf(path, key, 'content_chunks', 'overflow').at(-1) ?? 0)
  const { report } = await repair()
  assert.deepEqual(
    report.lost.map(({ uid }) => uid),
    [lost]
  )
  const again = await open()
  assert.equal(await importOne(again, 'deleted'), 0)
  assert.equal(await importOne(again, 'kept'), 0)
  assert.ok((await importOne(again, 'lost')) > lost)
  assert.deepEqual(aliveUids((await again.openView('INBOX')).view).length, 2)
  assert.ok(kept < lost)
})
