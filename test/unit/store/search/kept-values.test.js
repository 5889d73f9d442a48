/**
 * A search keeps dates and sizes of all messages with their view. Whatever happens to the mailbox, and whoever does it, the
 * next search says what one that has to read them says.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { accountFolder, appendMany } from '../../../helpers/account-folder.js'
import { searchKey } from '../../../helpers/search-key.js'
import { selectIn } from '../../../helpers/selected.js'
import { appendAll } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {Awaited<ReturnType<typeof selectIn>>} Selected */

const NOON_SECONDS = Date.UTC(2024, 5, 14, 12) / 1000
const clock = { nowMs: () => NOON_SECONDS * 1000 }

const KEYS = [
  'SINCE 12-Jun-2024',
  'NOT BEFORE 11-Jun-2024 SMALLER 150',
  'SENTON 13-Jun-2024',
  'NOT SENTSINCE 12-Jun-2024',
  'LARGER 140',
  'OR YOUNGER 100000 OLDER 300000'
]

/**
 * @param {AccountStore} store
 * @param {number} count
 * @param {number} [first]
 */
const append = (store, count, first = 0) =>
  appendAll(
    store,
    'INBOX',
    Array.from({ length: count }, (_, nth) => first + nth).map((seed) => {
      const sent =
        seed % 5 === 0 ? '' : `Date: ${10 + ((seed * 3) % 5)} Jun 2024 10:00:00 +0200\r\n`
      const text = `${seed % 3 === 0 ? 'needle' : 'straw'} ${'x'.repeat((seed * 13) % 101)}`
      return {
        bytes: Buffer.from(`${sent}Subject: row\r\n\r\n${text}\r\n`),
        internalDate: {
          epochSeconds: NOON_SECONDS - ((seed * 7919) % 5) * 86_400,
          zoneMinutes: ((seed % 5) - 2) * 360
        }
      }
    })
  )

/**
 * @param {AccountStore} store
 * @param {Selected} chosen
 * @param {string} text
 * @returns {Promise<number[]>} UIDs
 */
async function find(store, { view, selected }, text) {
  const slots = await searchMessages({ store, view, selected, key: searchKey(text), clock })
  return slots.map((slot) => view.uids[slot] ?? 0)
}

/**
 * @param {AccountStore} store
 * @param {Selected} chosen
 * @param {readonly string[]} [keys]
 */
async function check(store, chosen, keys = KEYS) {
  const { view } = chosen
  for (const key of keys) {
    const found = await find(store, chosen, key)
    const kept = view.sortColumns
    view.sortColumns = new Map()
    assert.deepEqual(found, await find(store, chosen, key), key)
    assert.ok(found.length > 0, key)
    view.sortColumns = kept
  }
}

test('dates and sizes are read once, and later those of new messages alone', async (t) => {
  const store = await (await accountFolder(t)).create()
  await append(store, 200)
  const chosen = await selectIn(store)
  const { view, selected } = chosen
  await check(store, chosen)
  for (const key of KEYS) await find(store, chosen, key)
  assert.deepEqual([...view.sortColumns.keys()].sort(), [
    'ARRIVAL',
    'LOCAL_ARRIVAL',
    'LOCAL_SENT',
    'SIZE'
  ])
  const { database } = store.searchAccess
  const reads = t.mock.method(database, 'readSettled')
  for (const key of KEYS) await find(store, chosen, key)
  assert.equal(reads.mock.callCount(), 0)
  await append(store, 50, 1000)
  selected.takeNews({ allowsExpunge: true })
  for (const key of KEYS) await find(store, chosen, key)
  // Of each column one page.
  assert.equal(reads.mock.callCount(), 4)
  await check(store, chosen)
})

test('no column is made for a search of few messages', async (t) => {
  const store = await (await accountFolder(t)).create()
  await append(store, 200)
  const chosen = await selectIn(store)
  assert.equal((await find(store, chosen, '1:90 SINCE 1-Jan-2024')).length, 90)
  assert.equal(chosen.view.sortColumns.size, 0)
  assert.equal((await find(store, chosen, '1:110 SINCE 1-Jan-2024')).length, 110)
  assert.deepEqual([...chosen.view.sortColumns.keys()], ['LOCAL_ARRIVAL'])
})

test('of very many messages a column is made, and of very many new ones not for a search of few', async (t) => {
  const store = await (await accountFolder(t)).create()
  await appendMany(store, 'INBOX', 1100)
  const chosen = await selectIn(store)
  const { view, selected } = chosen
  const known = () => view.sortColumns.get('LOCAL_ARRIVAL')?.filter((value) => value !== 0).length
  assert.equal((await find(store, chosen, 'SINCE 1-Jan-1970')).length, 1100)
  assert.equal(known(), 1100)
  await appendMany(store, 'INBOX', 1100)
  selected.takeNews({ allowsExpunge: true })
  assert.equal((await find(store, chosen, '1:90,2150:* SINCE 1-Jan-1970')).length, 141)
  assert.equal(known(), 1100)
  assert.equal((await find(store, chosen, 'SINCE 1-Jan-1970')).length, 2200)
  assert.equal(known(), 2200)
})

test('what is kept stays right as messages go, and others come in their slots', async (t) => {
  const store = await (await accountFolder(t)).create()
  await append(store, 120)
  const chosen = await selectIn(store)
  const { view, selected } = chosen
  await check(store, chosen)
  for (const key of KEYS) await find(store, chosen, key)
  for (let round = 1; round <= 3; round++) {
    const uids = [...view.uids.subarray(0, view.length)].filter((_, nth) => nth % 2 === 0)
    await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
    await store.expunge({ view, uids })
    await append(store, 80, round * 1000)
    selected.takeNews({ allowsExpunge: true })
    selected.unhold()
    assert.equal(view.hasTombstones, false)
    selected.hold()
    await check(store, chosen)
  }
})

test('messages that went before they were read match nothing, whatever else is asked of them', async (t) => {
  const store = await (await accountFolder(t)).create()
  await append(store, 60)
  const chosen = await selectIn(store)
  const { view } = chosen
  const change = { view, uids: [1, 30, 60], origin: 'other' }
  await store.changeFlags({ ...change, action: 'add', flags: ['\\Deleted'], unchangedSince: null })
  await store.expunge(change)
  // The client has not been told: they have their sequence numbers still.
  for (const key of ['SINCE 1-Jan-2024', 'NOT SINCE 1-Jan-2025', 'NOT SENTBEFORE 1-Jan-2000']) {
    const found = await find(store, chosen, key)
    assert.deepEqual([found.length, found.at(0), found.at(-1)], [57, 2, 59], key)
    const reads = t.mock.method(store.searchAccess.database, 'readSettled')
    assert.deepEqual(await find(store, chosen, key), found, key)
    assert.equal(reads.mock.callCount(), 0, key)
    reads.mock.restore()
  }
})

test('a thread that looks at texts goes by what is kept', async (t) => {
  const store = await (await accountFolder(t)).create()
  await append(store, 300)
  const chosen = await selectIn(store)
  const scans = t.mock.method(store.searchAccess.scanner, 'scan')
  const keys = [
    'BODY needle SINCE 11-Jun-2024 NOT SENTON 13-Jun-2024',
    'OR BODY needle LARGER 170 UID 1:290'
  ]
  await find(store, chosen, 'OR SINCE 1-Jan-2025 LARGER 1')
  await find(store, chosen, 'SENTSINCE 1-Jan-2025')
  await check(store, chosen, keys)
  const requests = scans.mock.calls.map(({ arguments: [request] }) => [...request.kept].sort())
  assert.deepEqual(requests, [['LOCAL_ARRIVAL', 'LOCAL_SENT'], [], ['SIZE'], []])
})
