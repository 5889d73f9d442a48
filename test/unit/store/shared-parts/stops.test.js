/**
 * Sharing may be stopped anywhere, and messages may go at any moment of it.
 */
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { test } from 'node:test'
import { runTransaction } from '../../../../src/database/transaction.js'
import { hasTwin, readUnshared } from '../../../../src/store/shared-parts/part-rows.js'
import { shareParts } from '../../../../src/store/shared-parts/share-parts.js'
import { openAccountStore } from '../../../../src/store/account-store.js'
import { verifyAll } from '../../../../src/store/verify.js'
import { systemClock } from '../../../../src/support/clock.js'
import {
  accountFolder,
  aliveUids,
  appendOne,
  rawHandle,
  readBytes,
  scratchFolder,
  sweepAll
} from '../../../helpers/account-folder.js'
import { mailWith, noise } from '../../../helpers/attachments.js'
import { explaining } from '../../../helpers/explain.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

const [FIRST, SECOND] = [noise('first', 9000), noise('second', 12_000)]
const MAILS = [
  mailWith('one', [FIRST]),
  mailWith('two', [noise('alone', 8000), FIRST]),
  mailWith('three', [SECOND, FIRST]),
  mailWith('four', [SECOND])
]

/**
 * @param {import('node:test').TestContext} t
 * @param {readonly Buffer[]} [mails]
 * @returns {Promise<{ folder: string, key: Buffer }>} a closed mailbox of messages that are indexed and on the list
 */
async function makeMailbox(t, mails = MAILS) {
  const account = await accountFolder(t)
  const store = await account.create()
  for (const mail of mails) await appendOne(store, 'INBOX', mail)
  const db = rawHandle(account)
  // The indexer would share the attachments of long ones at once.
  db.exec('CREATE TRIGGER hold AFTER INSERT ON part_queue BEGIN DELETE FROM part_queue; END')
  await store.indexSearch()
  db.exec('DROP TRIGGER hold; INSERT INTO part_queue SELECT id FROM contents')
  db.close()
  await store.close()
  return account
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{ folder: string, key: Buffer }} mailbox
 */
async function openCopy(t, { folder: from, key }) {
  const folder = await scratchFolder(t)
  cpSync(from, folder, { recursive: true })
  const account = { folder, key }
  const store = await openAccountStore({ ...account, clock: systemClock })
  t.after(() => store.close())
  const { view } = await store.openView('INBOX')
  const db = rawHandle(account)
  t.after(() => db.close())
  const count = (/** @type {string} */ table) => db.prepare(`SELECT count(*) FROM ${table}`).pluck()
  const expunge = async (/** @type {number[]} */ uids) => {
    await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
    await store.expunge({ view, uids })
    await sweepAll(store)
  }
  const check = async () => {
    // Here, and not in a thread: it is little.
    assert.deepEqual(verifyAll(db, () => {}).problems, [])
    for (const uid of aliveUids(view))
      assert.ok((await readBytes(store, view, uid)).equals(/** @type {Buffer} */ (MAILS[uid - 1])))
  }
  return { store, view, db, count, expunge, check }
}

/**
 * @param {Database} db
 * @param {(written: number) => Promise<void>} [beforeWrite]
 * @returns {import('../../../../src/store/shared-parts/share-parts.js').SharePort}
 */
function portOf(db, beforeWrite = async () => {}) {
  let written = 0
  return {
    read: async (work) => work(db),
    write: async (work) => {
      await beforeWrite(written++)
      return runTransaction(db, () => work(db))
    }
  }
}

const never = () => false

test('stopped before any of its writes, it leaves all as it was, and goes on later', async (t) => {
  const mailbox = await makeMailbox(t)
  let isStopped = true
  for (let stop = 0; isStopped; stop++) {
    const { store, db, count, expunge, check } = await openCopy(t, mailbox)
    const stopped = new Error('stopped')
    const port = portOf(db, async (written) => {
      if (written === stop) throw stopped
    })
    isStopped = await shareParts(port, never).then(
      () => false,
      (error) => {
        assert.equal(error, stopped)
        return true
      }
    )
    await check()
    assert.equal(await shareParts(portOf(db), never), true)
    assert.equal(count('part_queue').get(), 0)
    await store.upkeep.sweep()
    assert.equal(count('shared_parts').get(), 2)
    await check()
    await expunge([1, 2, 3, 4])
    for (const table of ['shared_parts', 'shared_part_uses', 'content_chunks'])
      assert.equal(count(table).get(), 0, `${table}, stopped before write ${stop}`)
    await store.close()
    if (!isStopped) assert.ok(stop > 10)
  }
})

for (const uids of [[3], [1, 2, 3, 4]]) {
  test(`messages ${uids} may go between any two of its writes`, async (t) => {
    const mailbox = await makeMailbox(t)
    let isOver = false
    for (let when = 0; !isOver; when++) {
      const { store, db, count, expunge, check } = await openCopy(t, mailbox)
      isOver = true
      const port = portOf(db, async (written) => {
        if (written !== when) return
        isOver = false
        await expunge(uids)
      })
      assert.equal(await shareParts(port, never), true)
      await sweepAll(store)
      await check()
      assert.equal(count('part_queue').get(), 0)
      if (uids.length === MAILS.length && !isOver) assert.equal(count('shared_parts').get(), 0)
      await store.close()
    }
  })
}

test('of a message that is damaged meanwhile the rest stays', async (t) => {
  const bytes = noise('long', 600_000)
  const mails = ['one', 'two'].map((name) => mailWith(name, [bytes]))
  const mailbox = await makeMailbox(t, mails)
  const soundBytes = 500_000
  const lastChunk = `SELECT max(k.id) FROM content_chunks k JOIN messages m ON k.id >> 16 = m.content_id WHERE m.id & 65535 = 1`
  let isOver = false
  for (let when = 0; !isOver; when++) {
    const { store, view, db, expunge } = await openCopy(t, mailbox)
    isOver = true
    const port = portOf(db, async (written) => {
      if (written !== when) return
      isOver = false
      db.exec(`UPDATE content_chunks SET data = x'00' WHERE id = (${lastChunk})`)
    })
    assert.equal(await shareParts(port, never), true)
    await expunge([2])
    const read = await readBytes(store, view, 1, 0, soundBytes)
    assert.ok(mails[0]?.subarray(0, soundBytes).equals(read), `damaged before write ${when}`)
    await store.close()
  }
})

test('called off anywhere, also within a long attachment, it reads no more, and goes on later', async (t) => {
  const bytes = noise('long', 600_000)
  const mails = ['one', 'two'].map((name) => mailWith(name, [bytes]))
  const mailbox = await makeMailbox(t, mails)
  let isDone = false
  let asked = 0
  for (let stop = 0; !isDone; stop += 3) {
    const { store, view, db, count } = await openCopy(t, mailbox)
    const checkBytes = async () => {
      for (const [index, mail] of mails.entries())
        assert.ok(mail.equals(await readBytes(store, view, index + 1)), `called off after ${stop}`)
    }
    let reads = 0
    const port = portOf(db)
    const { read } = port
    port.read = (work) => {
      reads++
      return read(work)
    }
    asked = 0
    isDone = await shareParts(port, () => ++asked > stop)
    assert.equal(reads, isDone ? asked : stop)
    if (isDone) assert.equal(count('part_queue').get(), 0)
    await checkBytes()
    assert.equal(await shareParts(portOf(db), never), true)
    assert.equal(count('part_queue').get(), 0)
    assert.equal(count('shared_part_uses').get(), 2)
    await checkBytes()
    await store.close()
  }
  // Each of the two is hashed, stored or referred to in several readings.
  assert.ok(asked > 20)
})

test('of an attachment that hundreds have, each turn shares some, and none looks at those that are', async (t) => {
  const mails = Array.from({ length: 350 }, (_, number) => mailWith(`${number}`, [FIRST]))
  const { db, count } = await openCopy(t, await makeMailbox(t, mails))
  assert.equal(await shareParts(portOf(db), never), false)
  const left = Number(count('part_queue').get())
  assert.ok(left > 0 && left <= 350 - 256)
  assert.equal(await shareParts(portOf(db), never), true)
  assert.equal(count('part_queue').get(), 0)
  assert.equal(count('shared_part_uses').get(), 350)

  db.exec('ANALYZE')
  const place = { contentId: 1, start: 0, line: 76, size: FIRST.length, sample: 0 }
  for (const search of [hasTwin, readUnshared]) {
    /** @type {string[]} */
    const plan = []
    search(explaining(db, plan), place, 1)
    assert.match(
      plan.join(),
      /^SEARCH part_places USING (COVERING )?INDEX part_places_by_sample \(sample=\? AND size=\?( AND is_shared=\?)?\)$/
    )
  }
})
