/**
 * Flags and MODSEQs of large mailboxes, packed: whatever is done to the mail, they are what the rows say.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { runTransaction } from '../../../src/database/transaction.js'
import { messageRowId, uidOfRow } from '../../../src/store/row-ids.js'
import { FEW_ROWS, hasPackableViews, packViews } from '../../../src/store/pack-views.js'
import { ThreadDatabase } from '../../../src/store/search/thread-database.js'
import { BLOCK_UIDS } from '../../../src/store/view-blocks.js'
import { readAllRows, readChangedRows } from '../../../src/store/view-rows.js'
import { accountFolder, appendMany } from '../../helpers/account-folder.js'

/**
 * @typedef {[uid: number, modSeq: number, flags: number, keywords: number]} Row
 * @typedef {{ id: number, uidNext: number }} Mailbox
 */

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  const { folder, key } = account
  const { db } = openEncryptedDatabase({
    path: `${folder}/mail.db`,
    key,
    cipher: 'chacha20',
    isBlocking: true
  })
  t.after(() => db.close())
  const source = new ThreadDatabase(db)

  const pack = () =>
    packViews({
      read: source.readSettled.bind(source),
      write: async (work) => runTransaction(db, () => work(db))
    })

  const mailboxes = () =>
    /** @type {Mailbox[]} */ (db.prepare('SELECT id, uid_next AS uidNext FROM mailboxes').all())

  /** @param {string} name */
  const mailbox = (name) =>
    /** @type {Mailbox} */ (
      db.prepare('SELECT id, uid_next AS uidNext FROM mailboxes WHERE name = ?').get(name)
    )

  /** @param {Mailbox} of */
  const rowsOf = ({ id }) =>
    db
      .prepare(
        'SELECT id, modseq, flags, keywords FROM messages WHERE id > ? AND id < ? ORDER BY id'
      )
      .raw()
      .all(messageRowId(id, 0), messageRowId(id + 1, 0))
      .map((row) => {
        const [rowId, ...state] = /** @type {Row} */ (row)
        return /** @type {Row} */ ([uidOfRow(rowId), ...state])
      })

  /**
   * @param {Mailbox} of
   * @param {number} [since] - all without it
   */
  const read = async (of, since) => {
    /** @type {Row[]} */
    const rows = []
    const sink = { append: (/** @type {Row} */ ...row) => rows.push(row) }
    const oneByOne = await (since === undefined
      ? readAllRows(source, of, sink)
      : readChangedRows(source, of, since, sink))
    return { rows, oneByOne }
  }
  const count = () =>
    /** @type {number} */ (db.prepare('SELECT count(*) FROM view_blocks').pluck().get())
  return { ...account, store, db, pack, mailbox, mailboxes, rowsOf, read, count }
}

test('a large mailbox is packed but for its newest messages, and then reads the same', async (t) => {
  const { store, db, pack, mailbox, rowsOf, read, count } = await setup(t)
  await appendMany(store, 'INBOX', 4000, ['\\Seen'])
  await appendMany(store, 'INBOX', 7000, ['\\Flagged', '$Work'])
  await appendMany(store, 'INBOX', 500)
  const inbox = mailbox('INBOX')
  const rows = rowsOf(inbox)
  assert.deepEqual(await read(inbox), { rows, oneByOne: 11_500 })

  await pack()
  assert.equal(count(), 11)
  assert.deepEqual(await read(inbox), { rows, oneByOne: 11_501 - 11 * BLOCK_UIDS })
  assert.deepEqual((await read({ ...inbox, uidNext: 5001 })).rows, rows.slice(0, 5000))
  const since = /** @type {Row} */ (rows[4000])[1]
  assert.deepEqual((await read(inbox, since - 1)).rows, rows.slice(4000))
  assert.deepEqual((await read(inbox, since)).rows, rows.slice(11_000))
  const packed = db.prepare('SELECT sum(length(data)) FROM view_blocks').pluck().get()
  assert.ok(Number(packed) < 11 * BLOCK_UIDS, `${packed} bytes`)
  assert.deepEqual((await store.verify()).problems, [])
})

/** How far messages are apart from each other, and how many blocks that gives: few messages in each are no gain. */
const GAPS = /** @type {const} */ ([
  [20, 195],
  [400_009, 0]
])

for (const [gap, blocks] of GAPS)
  test(`words of 32 bits and MODSEQs of 52 stay what they are, UIDs ${gap} apart`, async (t) => {
    const { store, db, pack, mailbox, rowsOf, read, count } = await setup(t)
    await appendMany(store, 'INBOX', 1)
    const { id } = mailbox('INBOX')
    const insert = db.prepare(
      'INSERT INTO messages SELECT ?, ?, ?, ?, 0, 0, 0, size, content_id FROM messages LIMIT 1'
    )
    runTransaction(db, () => {
      for (let number = 1; number <= 10_000; number++) {
        const uid = 1 + number * gap
        const modSeq = number % 3 === 0 ? 2 ** 52 - number : number
        insert.run(messageRowId(id, uid), modSeq, 2 ** 32 - number, (number * 7919) % 2 ** 32)
      }
      db.prepare('UPDATE mailboxes SET uid_next = ?, message_count = 10001 WHERE id = ?').run(
        2 + 10_000 * gap,
        id
      )
    })
    await pack()
    assert.equal(count(), blocks)
    const inbox = mailbox('INBOX')
    const rows = rowsOf(inbox)
    const found = await read(inbox)
    assert.deepEqual(found.rows, rows)
    assert.equal(found.oneByOne, blocks === 0 ? 10_001 : 17)
  })

test('a small mailbox is left as it is, and so is a large one of which little is not packed', async (t) => {
  const { store, db, pack, count } = await setup(t)
  await appendMany(store, 'INBOX', FEW_ROWS - 1)
  assert.equal(hasPackableViews(db), false)
  await pack()
  assert.equal(count(), 0)
  await appendMany(store, 'INBOX', BLOCK_UIDS)
  assert.equal(hasPackableViews(db), true)
  await pack()
  assert.equal(count(), 9)
  const { view } = await store.openView('INBOX')
  const change = { view, action: /** @type {const} */ ('add'), flags: ['\\Seen'] }
  await store.changeFlags({ ...change, uids: [1, 2, 3, 1500, 1600, 9000] })
  assert.equal(count(), 6)
  assert.equal(hasPackableViews(db), false)
  await pack()
  assert.equal(count(), 6)
})

test('whatever is done, what is packed says what the rows say', async (t) => {
  const { store, pack, mailboxes, rowsOf, read, count } = await setup(t)
  const check = async (/** @type {string} */ what) => {
    for (const mailbox of mailboxes()) {
      const rows = rowsOf(mailbox)
      assert.deepEqual((await read(mailbox)).rows, rows, what)
      const since = rows[Math.floor(rows.length / 2)]?.[1] ?? 0
      assert.deepEqual(
        (await read(mailbox, since)).rows,
        rows.filter(([, modSeq]) => modSeq > since),
        what
      )
    }
  }
  /**
   * @param {string} name
   * @param {(view: import('../../../src/store/mailbox-view.js').MailboxView) => Promise<unknown>} work
   */
  const inView = async (name, work) => {
    const { view } = await store.openView(name)
    await work(view)
    store.closeView(view)
  }
  /**
   * @param {number} from
   * @param {number} to - inclusive
   * @param {number} [step]
   */
  const uids = (from, to, step = 1) => {
    const list = []
    for (let uid = from; uid <= to; uid += step) list.push(uid)
    return list
  }
  const flags = ['\\Seen', '$Work']
  /** @type {[string, () => Promise<unknown>][]} */
  const steps = [
    ['messages come', () => appendMany(store, 'INBOX', 12_000, ['\\Flagged'])],
    [
      'flags of one',
      () =>
        inView('INBOX', (view) => store.changeFlags({ view, uids: [5000], action: 'add', flags }))
    ],
    [
      'flags of a run',
      () =>
        inView('INBOX', (view) =>
          store.changeFlags({ view, uids: uids(900, 3100), action: 'set', flags: ['\\Answered'] })
        )
    ],
    [
      'flags here and there',
      () =>
        inView('INBOX', (view) =>
          store.changeFlags({ view, uids: uids(1, 12_000, 700), action: 'remove', flags })
        )
    ],
    [
      'flags unless changed since',
      () =>
        inView('INBOX', (view) =>
          store.changeFlags({
            view,
            uids: uids(1, 12_000, 50),
            action: 'add',
            flags,
            unchangedSince: 3
          })
        )
    ],
    [
      'a copy in a thread',
      () =>
        inView('INBOX', (view) =>
          store.copyMessages({ from: view, uids: uids(1, 11_000), toMailbox: 'Archive' })
        )
    ],
    ['more messages', () => appendMany(store, 'INBOX', 2000)],
    [
      'a move of some',
      () =>
        inView('Archive', (view) =>
          store.moveMessages({ from: view, uids: uids(2000, 2100), toMailbox: 'INBOX' })
        )
    ],
    [
      'EXPUNGE',
      () =>
        inView('Archive', async (view) => {
          await store.changeFlags({
            view,
            uids: uids(100, 9000, 33),
            action: 'add',
            flags: ['\\Deleted']
          })
          await pack()
          await store.expunge({ view, uids: null })
        })
    ],
    ['RENAME INBOX', () => store.renameMailbox('INBOX', 'Old')],
    ['a restore', () => store.liftRestored()],
    ['messages after it', () => appendMany(store, 'Old', 3000)],
    ['DELETE', () => store.deleteMailbox('Old')],
    ['the sweep', () => store.upkeep.sweep()]
  ]
  for (const [what, step] of steps) {
    await step()
    await check(what)
    await pack()
    await check(`${what}, packed again`)
  }
  // Of what was deleted nothing is left.
  const archive = mailboxes().find((mailbox) => rowsOf(mailbox).length > 0)
  assert.ok(archive)
  assert.equal(count(), 11)
  assert.deepEqual((await store.verify()).problems, [])
})

test('a block that is damaged is not used, and one that says something else is found by verify', async (t) => {
  const { store, db, pack, mailbox, rowsOf, read } = await setup(t)
  await appendMany(store, 'INBOX', 10_000)
  await pack()
  db.exec('UPDATE view_blocks SET data = substr(data, 1, length(data) / 2) WHERE id % 4 = 2')
  const inbox = mailbox('INBOX')
  const rows = rowsOf(inbox)
  const found = await read(inbox)
  assert.deepEqual(found.rows, rows)
  assert.ok(found.oneByOne < 4 * BLOCK_UIDS, `${found.oneByOne}: those of the others are packed`)
  const inDamaged = 2 * BLOCK_UIDS + 100
  assert.deepEqual(
    (await read({ ...inbox, uidNext: inDamaged })).rows,
    rows.slice(0, inDamaged - 1)
  )
  assert.equal((await store.verify()).problems.length, 2)
  db.exec('DELETE FROM view_blocks WHERE id % 4 = 2')
  assert.deepEqual((await store.verify()).problems, [])
  db.exec(`UPDATE messages SET flags = 1 WHERE id = (SELECT max(id) - 5000 FROM messages);
    UPDATE mailboxes SET unseen_count = unseen_count - 1 WHERE message_count > 0`)
  const { problems } = await store.verify()
  assert.deepEqual(
    problems.map((problem) => problem.slice(0, 12)),
    ['packed flags']
  )
})

test('another process reads of what has changed, and not the rest', async (t) => {
  const { store, open, pack, mailbox, read } = await setup(t)
  await appendMany(store, 'INBOX', 12_000)
  await pack()
  const there = await open()
  const { view: mine } = await store.openView('INBOX')
  const { view } = await there.openView('INBOX')
  const since = view.highestModSeq
  await store.changeFlags({ view: mine, uids: [700, 4000], action: 'add', flags: ['\\Seen'] })
  await store.expunge({ view: mine, uids: [1] })
  const { rows, oneByOne } = await read(mailbox('INBOX'), since)
  assert.deepEqual(
    rows.map(([uid]) => uid),
    [700, 4000]
  )
  assert.ok(oneByOne < 3 * BLOCK_UIDS, `${oneByOne}`)
  await there.pollOtherProcesses()
  assert.deepEqual(view.flags, mine.flags)
  assert.deepEqual(view.modSeqs, mine.modSeqs)
})

test('whoever opens a large mailbox finds it packed the next time', async (t) => {
  const { store, open, db, count, read, mailbox, rowsOf } = await setup(t)
  await appendMany(store, 'INBOX', 10_000)
  await store.indexSearch()
  assert.equal(count(), 9)
  await store.close()
  db.exec('DELETE FROM view_blocks')
  const again = await open()
  const { view } = await again.openView('INBOX')
  while (count() < 9) await setTimeout(100)
  const inbox = mailbox('INBOX')
  const { rows, oneByOne } = await read(inbox)
  assert.deepEqual(rows, rowsOf(inbox))
  assert.ok(oneByOne < BLOCK_UIDS, `${oneByOne}`)
  again.closeView(view)
})
