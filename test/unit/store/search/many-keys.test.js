/**
 * Searches by thousands of keys, as fit into one command, and of messages that are thousands of copies: others have their
 * turn meanwhile, and memory has a bound.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askIndex } from '../../../../src/store/search/index-answers.js'
import { planSearch } from '../../../../src/store/search/plan.js'
import {
  accountFolder,
  appendMany,
  appendOne,
  makeMessage
} from '../../../helpers/account-folder.js'
import { searcher } from '../../../helpers/index-oracle.js'
import { searchKey } from '../../../helpers/search-key.js'
import { temporaryStore } from '../../../helpers/temporary-store.js'
import { turnsDuring } from '../../../helpers/turns.js'

/** @typedef {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */

const MESSAGES = 8192
const KEYS = 3000

/**
 * @param {(number: number) => string} keyText
 * @returns {SearchKey}
 */
const allOf = (keyText) =>
  searchKey(Array.from({ length: KEYS }, (_, number) => keyText(number)).join(' '))

test('a search by thousands of keys lets others have their turn while the view is gone through', async (t) => {
  const store = await (await accountFolder(t)).create()
  await appendMany(store, 'INBOX', MESSAGES)
  const { find } = await searcher(store, 'INBOX')
  for (const [title, keyText] of /** @type {const} */ ([
    ['flags', (/** @type {number} */ number) => `UNKEYWORD k${number}`],
    ['MODSEQ', (/** @type {number} */ number) => `NOT MODSEQ ${1_000_000 + number}`],
    ['UIDs', (/** @type {number} */ number) => `UID 1:${MESSAGES + number}`]
  ])) {
    const key = allOf(keyText)
    const { answer, turns } = await turnsDuring(t, () => find(key))
    assert.equal(answer.length, MESSAGES, title)
    assert.ok(turns >= 50, `${title}: ${turns} turns`)
  }
})

test('what thousands of keys about rows and headers find is what one of them finds', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (const [number, text] of ['needle one', 'other', 'needle two'].entries())
    await appendOne(store, 'INBOX', makeMessage(text, 500 + 100 * number))
  const { find } = await searcher(store, 'INBOX')
  assert.deepEqual(await find(allOf((number) => `LARGER ${number % 550}`)), [2, 3])
  assert.deepEqual(await find(allOf(() => 'SUBJECT needle')), [1, 3])
  assert.deepEqual(await find(allOf((number) => (number === 7 ? 'UID 3' : 'BODY needle'))), [3])
  await store.indexSearch()
  assert.deepEqual(await find(allOf(() => 'NOT SUBJECT needle')), [2])
  assert.deepEqual(await find(allOf(() => 'TEXT needle')), [1, 3])
})

test('a key that stands in a search thousands of times is looked at once for each message', async (t) => {
  const store = await (await accountFolder(t)).create()
  await appendMany(store, 'INBOX', 4000)
  const { find } = await searcher(store, 'INBOX')
  for (const keyText of [() => 'UNSEEN', () => 'OR UID 1:* LARGER 5'])
    for (const text of [keyText(), Array.from({ length: KEYS }, keyText).join(' ')]) {
      const { answer, turns } = await turnsDuring(t, () => find(searchKey(text)))
      assert.equal(answer.length, 4000)
      assert.ok(turns < 30, `${turns} turns`)
    }
})

test('messages that are thousands of copies of one are read in pages, and let others have their turn', async (t) => {
  const store = await (await accountFolder(t)).create()
  const uids = await appendMany(store, 'INBOX', MESSAGES)
  await store.indexSearch()
  const { find } = await searcher(store, 'INBOX')
  const { answer, turns } = await turnsDuring(t, () => find({ op: 'body', value: 'same' }))
  assert.deepEqual(answer, uids)
  assert.ok(turns >= 30, `${turns} turns`)
})

test('the index is asked no further when its answers name as many contents as may be held', async (t) => {
  const store = await temporaryStore(t)
  for (let number = 0; number < 40; number++)
    await appendOne(store, 'INBOX', makeMessage(`needle number ${number}`))
  await store.indexSearch()
  const plan = planSearch(searchKey('BODY needle BODY number BODY need BODY num'))
  const breathe = async () => {}
  const limits = { maxRows: Infinity, maxBlocks: Infinity, maxIds: 50 }
  const asked = await askIndex(store.searchAccess.database, { plan, ...limits, breathe })
  assert.equal(asked?.isCut, true)
  assert.equal(asked.answers.size, 80)
  const verdicts = plan.leaves.map((leaf) => asked.answers.verdict(leaf, 1))
  assert.deepEqual(verdicts.toSorted(), [true, true, undefined, undefined])
  assert.equal(asked.answers.possible?.length, 40)
})
