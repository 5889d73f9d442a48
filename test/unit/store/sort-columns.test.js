/**
 * SORT keeps with a view what it has read of messages. Whatever happens to the mailbox, and whoever does it, the next SORT
 * says what one that has to read everything says.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareValues } from '../../../src/store/sort/collation.js'
import { IdleViews } from '../../../src/store/idle-views.js'
import { sortMessages } from '../../../src/store/sort/sort-messages.js'
import { accountFolder, rawHandle } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../../src/store/mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('../../../src/store/sort/read-values.js').SortKey} SortKey */

/**
 * @typedef {object} Mail
 * @property {string} subject
 * @property {string} from - mailbox
 * @property {number} day - when it was sent, of January 2022
 * @property {number} arrival - seconds
 * @property {number} bodyBytes
 */

/** @type {readonly SortKey[]} */
const KEYS = ['SUBJECT', 'FROM', 'DATE', 'ARRIVAL', 'SIZE']

/**
 * @param {number} seed
 * @returns {Mail} in whose words, people and days others are alike
 */
const mailOf = (seed) => ({
  subject:
    ['aa', 'b', 'bb', 'zebra crossing at the station', 'ä'][seed % 7] ?? `w${(seed * 31) % 97}`,
  from: `p${(seed * 7) % 23}`,
  day: 1 + ((seed * 11) % 28),
  arrival: 1_700_000_000 + ((seed * 7919) % 1000),
  bodyBytes: (seed * 13) % 101
})

/**
 * @param {AccountStore} store
 * @param {readonly Mail[]} mails
 * @param {string} [mailbox]
 */
const append = (store, mails, mailbox = 'INBOX') =>
  appendAll(
    store,
    mailbox,
    mails.map(({ subject, from, day, arrival, bodyBytes }) => ({
      bytes: Buffer.from(
        `Subject: ${subject}\r\nFrom: ${from}@x\r\nDate: ${day} Jan 2022 10:00:00 +0000\r\n\r\n${'x'.repeat(bodyBytes)}`
      ),
      internalDate: { epochSeconds: arrival, zoneMinutes: 0 }
    }))
  )

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {...SortKey} keys
 * @returns {Promise<number[]>} UIDs
 */
async function sorted(store, view, ...keys) {
  const slots = [...view.uids.subarray(0, view.length).keys()].filter(
    (slot) => !view.isExpunged(slot)
  )
  const criteria = keys.map((key) => ({ key, isReverse: false }))
  const inOrder = await sortMessages({ store, view, slots, criteria })
  return inOrder.map((slot) => view.uids[slot] ?? 0)
}

/**
 * @param {ReadonlyMap<number, Mail>} mails - by UID
 * @param {SortKey} key
 * @returns {number[]} UIDs
 */
function naivelySorted(mails, key) {
  const values = [...mails].map(([uid, { subject, from, day, arrival, bodyBytes }]) => ({
    uid,
    value: {
      SUBJECT: subject.toUpperCase().normalize('NFKD'),
      FROM: from.toUpperCase(),
      DATE: day,
      ARRIVAL: arrival,
      SIZE: Buffer.byteLength(subject) + from.length + String(day).length + bodyBytes,
      CC: '',
      TO: '',
      DISPLAYFROM: `${from}@x`.toUpperCase(),
      DISPLAYTO: ''
    }[key]
  }))
  return values
    .toSorted((a, b) => compareValues(a.value, b.value) || a.uid - b.uid)
    .map(({ uid }) => uid)
}

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {ReadonlyMap<number, Mail>} mails - what is in the mailbox, by UID
 */
async function checkAll(store, view, mails) {
  for (const key of KEYS)
    assert.deepEqual(await sorted(store, view, key), naivelySorted(mails, key), key)
}

/**
 * @param {number} count
 * @returns {Map<number, Mail>} by UID from 1 on
 */
const manyMails = (count) =>
  new Map(Array.from({ length: count }, (_, index) => [index + 1, mailOf(index)]))

/** So many that a single message is put between them (see insert-ranks.js). */
const MANY = 600

/**
 * @param {import('node:test').TestContext} t
 * @param {number} count - of messages
 */
async function setup(t, count) {
  const account = await accountFolder(t)
  const store = await account.create()
  const mails = manyMails(count)
  await append(store, [...mails.values()])
  const { view } = await store.openView('INBOX')
  await checkAll(store, view, mails)
  return { ...account, store, view, mails }
}

test('what comes later has its place, one by one and many at once', async (t) => {
  const { store, view, mails } = await setup(t, MANY)
  const base = mailOf(0)
  const subjects = ['w31', '', 'A', 'w310', '\u65e5', 'w31', 'Zebra crossing at the', 'b\u0001']
  for (const [nth, subject] of subjects.entries()) {
    const mail = { ...base, subject, from: `a${nth % 3}`, day: 28 - nth, arrival: nth }
    await append(store, [mail])
    mails.set(MANY + 1 + nth, mail)
    await checkAll(store, view, mails)
  }
  const more = Array.from({ length: 50 }, (_, index) => mailOf(index * 3))
  const next = view.uidNext
  await append(store, more)
  for (const [index, mail] of more.entries()) mails.set(next + index, mail)
  await checkAll(store, view, mails)
})

test('what another process appends has its place as soon as it is known, and what it expunges goes', async (t) => {
  const { open, store, view, mails } = await setup(t, MANY)
  const there = await open()
  const theirs = (await there.openView('INBOX')).view
  await append(there, [mailOf(5)])
  await store.pollOtherProcesses()
  mails.set(MANY + 1, mailOf(5))
  await checkAll(store, view, mails)

  const gone = [...mails.keys()].filter((uid) => uid % 2 === 0)
  await there.changeFlags({ view: theirs, uids: gone, action: 'add', flags: ['\\Deleted'] })
  await there.expunge({ view: theirs, uids: gone })
  await store.pollOtherProcesses()
  for (const uid of gone) mails.delete(uid)
  await checkAll(store, view, mails)
})

test('a message finds its place although those that it is to be put between have gone, unknown to the view', async (t) => {
  const { open, store, view, mails } = await setup(t, MANY)
  const there = await open()
  const theirs = (await there.openView('INBOX')).view
  await append(there, [mailOf(5)])
  await store.pollOtherProcesses()
  const uids = [...mails.keys()]
  await there.changeFlags({ view: theirs, uids, action: 'add', flags: ['\\Deleted'] })
  await there.expunge({ view: theirs, uids })
  assert.equal(view.aliveCount, MANY + 1)
  assert.deepEqual(await sorted(store, view, 'SUBJECT'), [MANY + 1])
})

test('messages that have gone, unknown to the view, do not take the dates and sizes of those between', async (t) => {
  const { open, store, view, mails } = await setup(t, 40)
  const there = await open()
  const theirs = (await there.openView('INBOX')).view
  const uids = [2, 20, 21, 40]
  await there.changeFlags({ view: theirs, uids, action: 'add', flags: ['\\Deleted'] })
  await there.expunge({ view: theirs, uids })
  const slots = [...mails.keys()].filter((uid) => uid % 2 === 0).map((uid) => uid - 1)
  const left = new Map([...mails].filter(([uid]) => uid % 2 === 0 && !uids.includes(uid)))
  view.sortColumns.clear()
  for (const key of /** @type {const} */ (['DATE', 'ARRIVAL', 'SIZE'])) {
    const inOrder = await sortMessages({
      store,
      view,
      slots,
      criteria: [{ key, isReverse: false }]
    })
    assert.deepEqual(
      inOrder.map((slot) => view.uids[slot]),
      naivelySorted(left, key),
      key
    )
  }
})

test('messages keep their places when the slots of those that have gone are dropped', async (t) => {
  const { store, view, mails } = await setup(t, 100)
  const gone = [...mails.keys()].filter((uid) => uid % 3 !== 0)
  await store.changeFlags({ view, uids: gone, action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: gone })
  assert.equal(view.length, 33)
  for (const uid of gone) mails.delete(uid)
  await checkAll(store, view, mails)
  // These take the slots.
  for (let nth = 1; nth <= 70; nth++) mails.set(100 + nth, mailOf(nth * 5))
  await append(store, [...mails.values()].slice(33))
  await checkAll(store, view, mails)
})

test('what older code has made of messages is made anew before they are sorted by it', async (t) => {
  const { store, folder, key, open, view, mails } = await setup(t, 20)
  await store.indexSearch()
  await store.close()
  const db = rawHandle({ folder, key })
  const wrong = db
    .prepare("UPDATE message_meta SET builder_version = 1, sent_at = 7, base_subject = 'x'")
    .run()
  assert.equal(wrong.changes, 20)
  db.close()
  const again = await open()
  const anew = (await again.openView('INBOX')).view
  assert.notEqual(anew, view)
  await checkAll(again, anew, mails)
})

test('a mailbox that is deleted and made again under its name is another', async (t) => {
  const { store } = await setup(t, 1)
  for (const seed of [3, 40]) {
    await store.createMailbox('again')
    const mails = new Map(
      Array.from({ length: 20 }, (_, index) => [index + 1, mailOf(index * seed)])
    )
    await append(store, [...mails.values()], 'again')
    const { view } = await store.openView('again')
    await checkAll(store, view, mails)
    store.closeView(view)
    await store.deleteMailbox('again')
  }
})

test('what is kept counts as memory of the view, and goes with it', async (t) => {
  const { store: probe, view: known, mails } = await setup(t, 100)
  await probe.close()
  const bytes = [...known.sortColumns.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
  assert.ok(bytes >= KEYS.length * 4 * mails.size)

  for (const isEnough of [true, false]) {
    const account = await accountFolder(t)
    const idleViews = new IdleViews({ totalBytes: known.bytes - (isEnough ? 0 : 1) })
    const store = await account.create({ idleViews })
    await append(store, [...mails.values()])
    const { view } = await store.openView('INBOX')
    const bare = view.bytes
    await checkAll(store, view, mails)
    assert.ok(view.bytes >= bare + bytes)
    store.closeView(view)
    assert.equal(idleViews.usedBytes, isEnough ? view.bytes : 0)
    const again = (await store.openView('INBOX')).view
    assert.equal(again === view, isEnough)
    assert.equal(again.sortColumns.size, isEnough ? KEYS.length : 0)
    await checkAll(store, again, mails)
  }
})

test('of a part of a mailbox no ranks are kept, and those that are kept stay', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const mails = manyMails(50)
  await append(store, [...mails.values()])
  const { view } = await store.openView('INBOX')
  const few = [3, 4, 20]
  const sortFew = async () => {
    const criteria = [{ key: /** @type {const} */ ('SUBJECT'), isReverse: true }]
    return await sortMessages({ store, view, slots: few, criteria })
  }
  const before = await sortFew()
  assert.equal(view.sortColumns.size, 0)
  await checkAll(store, view, mails)
  const ranks = view.sortColumns.get('SUBJECT')
  assert.deepEqual(await sortFew(), before)
  assert.equal(view.sortColumns.get('SUBJECT'), ranks)
})

test('two sorts at the same time lose nothing when the view grows between them', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  // Four pages of messages, and little room for more.
  const mails = manyMails(4090)
  await append(store, [...mails.values()])
  const { view } = await store.openView('INBOX')
  const slots = [...mails.keys()].map((uid) => view.slotOf(uid))
  for (const key of KEYS) {
    const { length } = view.uids
    const request = { store, view, slots, criteria: [{ key, isReverse: false }] }
    /** @type {Promise<number[]>[]} */
    const others = []
    let looks = 0
    const throwIfAborted = () => {
      if (++looks !== 2) return
      while (view.length <= length) view.append(view.uidNext, view.highestModSeq, 0, 0)
      others.push(sortMessages(request))
    }
    const signal = /** @type {AbortSignal} */ (/** @type {unknown} */ ({ throwIfAborted }))
    const found = [await sortMessages({ ...request, signal }), ...(await Promise.all(others))]
    assert.equal(found.length, 2)
    for (const inOrder of found)
      assert.deepEqual(
        inOrder.map((slot) => view.uids[slot]),
        naivelySorted(mails, key)
      )
  }
})
