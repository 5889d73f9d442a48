/**
 * THREAD keeps with a view which messages name which. Whatever happens to the mailbox, and whoever does it, the next THREAD
 * says what one that has to read everything says.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { threadMessages } from '../../../src/store/threading/thread-messages.js'
import { accountFolder, rawHandle } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../../src/store/mailbox-view.js').MailboxView} MailboxView */

/**
 * @typedef {object} Mail
 * @property {string | null} [id] - default: it has none
 * @property {readonly string[]} [references]
 * @property {string} [subject]
 * @property {number} [day] - of January 2022
 */

/**
 * @param {AccountStore} store
 * @param {readonly Mail[]} mails
 */
const append = (store, mails) =>
  appendAll(
    store,
    'INBOX',
    mails.map(({ id = null, references = [], subject = '', day = 1 }) => {
      const lines = [`Subject: ${subject}`, `Date: ${day} Jan 2022 10:00:00 +0000`]
      if (id !== null) lines.push(`Message-ID: <${id}@x>`)
      if (references.length > 0)
        lines.push(`References: ${references.map((each) => `<${each}@x>`).join('\r\n ')}`)
      return { bytes: Buffer.from(`${lines.join('\r\n')}\r\n\r\nx\r\n`) }
    })
  )

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {readonly number[]} [slots] - default: all
 * @returns {Promise<string>} UIDs
 */
async function threads(store, view, slots) {
  const all = [...view.uids.subarray(0, view.length).keys()].filter(
    (slot) => !view.isExpunged(slot)
  )
  const { heads, containers } = await threadMessages({
    store,
    view,
    slots: slots ?? all,
    algorithm: 'REFERENCES'
  })
  /** @type {(container: number) => string} */
  const tell = (container) => {
    const uid = containers.isDummy(container) ? '' : view.uids[containers.slotOf(container)]
    let told = `(${uid}`
    let child = containers.firstChildOf(container)
    for (; child !== 0; child = containers.nextSiblingOf(child)) told += tell(child)
    return `${told})`
  }
  return [...heads].map(tell).join('')
}

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {readonly number[]} [slots] - default: all
 * @returns {Promise<string>} as one that knows nothing says
 */
async function threadsAnew(store, view, slots) {
  const { sortColumns, threadLinks } = view
  view.sortColumns = new Map()
  view.threadLinks = null
  const anew = await threads(store, view, slots)
  view.sortColumns = sortColumns
  view.threadLinks = threadLinks
  return anew
}

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 */
async function check(store, view) {
  assert.equal(await threads(store, view), await threadsAnew(store, view))
}

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {readonly number[]} uids
 */
async function expunge(store, view, uids) {
  await store.changeFlags({ view, uids: [...uids], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: [...uids] })
}

/**
 * @param {import('node:test').TestContext} t
 * @param {readonly Mail[]} mails
 */
async function setup(t, mails) {
  const account = await accountFolder(t)
  const store = await account.create()
  await append(store, mails)
  const { view } = await store.openView('INBOX')
  await check(store, view)
  return { ...account, store, view }
}

/** @type {readonly Mail[]} */
const MAILS = [
  { id: 'a', subject: 'one' },
  { id: 'b', references: ['a'], subject: 'two', day: 2 },
  { id: 'c', references: ['a', 'lost', 'b'], subject: 'three', day: 3 },
  { references: ['lost'], subject: 'Re: one', day: 2 },
  { id: 'a', subject: 'four' },
  { id: 'd', references: ['never'], day: 3 }
]

test('new messages join the threads that they name', async (t) => {
  const { store, view } = await setup(t, MAILS)
  const kept = view.threadLinks
  assert.ok(kept)
  for (const mail of [
    { id: 'e', references: ['a', 'c'] },
    { id: 'never', subject: 'five' },
    { references: ['lost', 'new'] },
    { id: 'new', references: ['e'], day: 9 },
    { id: 'f', references: ['new', 'f', 'unheard'] },
    {}
  ]) {
    await append(store, [mail])
    await check(store, view)
  }
  await append(store, MAILS)
  await check(store, view)
  assert.equal(view.threadLinks, kept)
  assert.equal(kept.count, 18)
})

test('a message that is just being expunged gives its place to no other', async (t) => {
  const { store, view } = await setup(t, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
  await append(store, [{ id: 'x' }, { id: 'y' }, { id: 'z', references: ['y'] }])
  await store.changeFlags({ view, uids: [4], action: 'add', flags: ['\\Deleted'] })
  const expunging = store.expunge({ view, uids: [4] })
  assert.equal(view.aliveCount, 6, 'it is not published yet')
  assert.match(await threads(store, view), /^\S*\(5\(6\)\)/)
  await expunging
  await check(store, view)
})

test('what another process has appended and expunged is seen', async (t) => {
  const { open, store, view } = await setup(t, MAILS)
  const there = await open()
  const theirs = (await there.openView('INBOX')).view
  await append(there, [{ id: 'e', references: ['b'] }])
  await store.pollOtherProcesses()
  await check(store, view)
  assert.match(await threads(store, view), /\(2\(7\)\(3\)\)/)
  await append(there, [{ id: 'f', references: ['c', 'e'] }])
  await store.pollOtherProcesses()
  // Where `c` and `e` are named is not there any more, unknown to the view.
  await expunge(there, theirs, [3, 7])
  assert.equal(view.aliveCount, 8)
  assert.match(await threads(store, view), /\(8\)/)
  await store.pollOtherProcesses()
  await check(store, view)
})

test('threads whose first messages go in the midst of it do not become one', async (t) => {
  const { open, store, view } = await setup(t, [
    { id: 'a', subject: 'one' },
    { references: ['a'], subject: 'one', day: 2 },
    { id: 'b', subject: 'two', day: 3 },
    { references: ['b'], subject: 'two', day: 4 },
    ...MAILS
  ])
  const there = await open()
  const theirs = (await there.openView('INBOX')).view
  // Nothing is known, and of so few of them subjects are not kept.
  view.sortColumns.clear()
  view.threadLinks = null
  const { database } = store.searchAccess
  const readSettled = database.readSettled.bind(database)
  const reads = t.mock.method(
    database,
    'readSettled',
    async (/** @type {Parameters<typeof readSettled>[0]} */ work) => {
      const links = await readSettled(work)
      reads.mock.restore()
      await expunge(there, theirs, [1, 3])
      return links
    }
  )
  assert.equal(await threads(store, view, [0, 1, 2, 3]), '(1(2))(3(4))')
})

test('slots that are dropped change nothing, and who names a message that has gone finds its thread', async (t) => {
  const { store, view } = await setup(t, MAILS)
  await expunge(store, view, [1, 2])
  assert.equal(view.length, 4)
  await check(store, view)
  await append(store, [{ id: 'e', references: ['b'] }, { references: ['b', 'e'] }])
  await check(store, view)
  assert.match(await threads(store, view), /\(7\(8\)\)/)
})

test('what older code has made is made anew', async (t) => {
  const more = Array.from({ length: 600 }, (_, nth) => ({
    id: `m${nth}`,
    references: nth % 3 > 0 ? [`m${nth - 1}`] : []
  }))
  const { store, folder, key, open, view: before } = await setup(t, [...MAILS, ...more])
  const expected = await threads(store, before)
  await store.indexSearch()
  await store.close()
  const db = rawHandle({ folder, key })
  const wrong = db
    .prepare(
      "UPDATE message_meta SET builder_version = 1, message_id = 'x', reference_list = '[]', in_reply_to = NULL WHERE content_id % 8 > 0"
    )
    .run()
  assert.equal(wrong.changes, 531)
  db.close()
  const again = await open()
  const { view } = await again.openView('INBOX')
  assert.equal(await threads(again, view), expected)
})

test('identifiers with one hash are told apart', async (t) => {
  const { store, view } = await setup(t, [{ id: 'gkezutx' }, { id: 'other', subject: 'other' }])
  await append(store, [
    { id: 'aygnytj', subject: 'another', day: 2 },
    { references: ['aygnytj'], day: 3 },
    { references: ['gkezutx'], day: 4 }
  ])
  await check(store, view)
  assert.equal(await threads(store, view), '(1(5))(2)(3(4))')
})

test('of very many references none are kept', async (t) => {
  const references = Array.from({ length: 500 }, (_, nth) => `r${nth}`)
  const { store, view } = await setup(
    t,
    Array.from({ length: 8 }, () => ({ references }))
  )
  assert.ok(view.threadLinks)
  await append(store, [{ references }])
  await check(store, view)
  assert.equal(view.threadLinks, null)
})

test('links are kept in whole or not at all, also where few come after very many', async (t) => {
  const references = Array.from({ length: 500 }, (_, nth) => `r${nth}`)
  const { store, view } = await setup(t, [
    ...Array.from({ length: 9 }, () => ({ references })),
    { id: 'a', subject: 'one' },
    { id: 'b', references: ['a'], subject: 'two' },
    ...Array.from({ length: 100 }, (_, nth) => ({ id: `m${nth}`, subject: `s${nth}` }))
  ])
  await check(store, view)
  assert.match(await threads(store, view), /\(10\(11\)\)/)
  await append(store, [{ id: 'c', references: ['a'], subject: 'three' }])
  await check(store, view)
})

test('links of more messages than a page are kept whole', async (t) => {
  const { store, view } = await setup(
    t,
    Array.from({ length: 1100 }, (_, nth) => ({
      id: `m${nth}`,
      references: nth % 4 === 0 ? [] : [`absent${nth - (nth % 4)}`, `m${nth - 1}`]
    }))
  )
  const kept = view.threadLinks
  assert.ok(kept)
  await check(store, view)
  await append(store, [{ id: 'new', references: ['m3', 'm1097'] }])
  await check(store, view)
  assert.match(await threads(store, view), /\(1097\(1098\(1099\(1100\)\)\(1101\)\)\)$/)
  assert.equal(view.threadLinks, kept)
})

test('threads whose messages have no date are in the order of when they came', async (t) => {
  const { store, view } = await setup(t, [])
  const days = [6, 3, 5]
  await appendAll(
    store,
    'INBOX',
    days.map((day) => ({
      bytes: Buffer.from(`Subject: ${day}\r\n\r\nx\r\n`),
      internalDate: { epochSeconds: day * 86_400, zoneMinutes: 0 }
    }))
  )
  await store.indexSearch()
  assert.equal(await threadsAnew(store, view), '(2)(3)(1)')
})

test('two that thread at the same time add new messages once', async (t) => {
  const { store, view } = await setup(t, MAILS)
  await append(store, MAILS)
  const [one, other] = await Promise.all([threads(store, view), threads(store, view)])
  assert.equal(one, other)
  assert.equal(view.threadLinks?.count, 2 * MAILS.length)
  await check(store, view)
})

test('a part of a mailbox is threaded as if it were all', async (t) => {
  const { store, view } = await setup(t, [...MAILS, ...MAILS])
  for (const slots of [[2, 3], [0, 1, 2, 3, 4, 5, 7, 9], [11], []]) {
    assert.equal(await threads(store, view, slots), await threadsAnew(store, view, slots))
    view.threadLinks = null
    assert.equal(await threads(store, view, slots), await threadsAnew(store, view, slots))
    assert.equal(view.threadLinks !== null, slots.length >= 6)
  }
  // One of those that are not known came before others that are.
  view.threadLinks = null
  await threads(store, view, [1, 2, 3, 4, 5, 6, 7])
  await check(store, view)
})

test('what is kept counts as memory of the view', async (t) => {
  const { store, view } = await setup(t, MAILS)
  const bytes = view.threadLinks?.bytes ?? 0
  assert.ok(bytes > 0)
  const all = view.bytes
  view.threadLinks = null
  assert.equal(view.bytes, all - bytes)
  await check(store, view)
})

const mail = fc.record({
  id: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')),
  references: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 4 }),
  subject: fc.constantFrom('', 'one', 'Re: one', 'two', 'Fwd: two'),
  day: fc.nat({ max: 3 }).map((day) => day + 1)
})
const step = fc.oneof(
  fc.record({ kind: fc.constant('append'), mails: fc.array(mail, { minLength: 1, maxLength: 6 }) }),
  fc.record({ kind: fc.constant('expunge'), share: fc.integer({ min: 2, max: 5 }) }),
  fc.record({ kind: fc.constant('thread') })
)

test('any mail in any order comes to the same', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      for (const each of steps) {
        if ('mails' in each) await append(store, each.mails)
        else if ('share' in each) {
          const uids = [...view.uids.subarray(0, view.length)].filter(
            (uid, slot) => !view.isExpunged(slot) && uid % each.share > 0
          )
          if (uids.length > 0) await expunge(store, view, uids)
        } else await check(store, view)
      }
      await check(store, view)
    }),
    { numRuns: 40 }
  )
})
