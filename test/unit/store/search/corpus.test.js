import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { SequenceSet } from '../../../../src/imap/protocol/values/sequence-set.js'
import { MessageParser } from '../../../../src/mime/parse-message.js'
import { toPartTree } from '../../../helpers/part-tree.js'
import { searchableHeader } from '../../../../src/mime/searchable-header.js'
import { textPieces } from '../../../../src/mime/text-extract.js'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../../helpers/corpus.js'
import { htmlToVisibleText } from '../../../helpers/decode.js'
import { matchesNaively, readNaively } from '../../../helpers/naive-search.js'
import { searchTree } from '../../../helpers/search-tree.js'
import { selectIn } from '../../../helpers/selected.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../../helpers/naive-search.js').NaiveMessage} NaiveMessage */

const NOW_SECONDS = Date.UTC(2024, 0, 1) / 1000
const clock = { nowMs: () => NOW_SECONDS * 1000 }
const FLAGS = ['\\Seen', '\\Answered', '\\Flagged', '\\Deleted', '\\Draft', '$Junk', 'work']
const FIELDS = ['from', 'to', 'cc', 'subject', 'list-id', 'received', 'x-mailer', 'x-virus-status']
const NEEDLES = (
  're:|linux|LIST|the |thanks|driver|http://|unsubscribe|wrote:|für|é|ñ|—|“|mips|usrp|GNU|mit |und |' +
  'spam|patch|kernel|attached|http|font|=20|--|html|utf-8|edu|.com|xyzzy|a|ß|привет'
).split('|')

/** @type {import('fast-check').Arbitrary<SearchKey>} */
const leafKey = fc.oneof(
  fc.record({
    op: fc.constant('flag'),
    flag: fc.constantFrom(...FLAGS, 'none'),
    isSet: fc.boolean()
  }),
  fc.record({ op: fc.constantFrom('recent', 'new', 'old', 'all') }),
  fc.record({
    op: fc.constantFrom('larger', 'smaller'),
    size: fc.integer({ min: 500, max: 40_000 })
  }),
  fc.record({ op: fc.constantFrom('younger', 'older'), seconds: fc.integer({ min: 1, max: 1e9 }) }),
  fc.record({
    op: fc.constantFrom('sequence', 'uid'),
    set: fc
      .array(fc.nat({ max: 250 }), { minLength: 1, maxLength: 4 })
      .map((numbers) =>
        SequenceSet.parse(numbers.map((n) => (n === 0 ? '*' : `${n}:${n + 20}`)).join())
      )
  }),
  fc.record({
    op: fc.constant('date'),
    which: fc.constantFrom('internal', 'sent'),
    comparison: fc.constantFrom('before', 'on', 'since'),
    date: fc.record({
      year: fc.integer({ min: 1997, max: 2026 }),
      month: fc.integer({ min: 1, max: 12 }),
      day: fc.integer({ min: 1, max: 28 })
    })
  }),
  fc.record({
    op: fc.constant('header'),
    field: fc.constantFrom(...FIELDS),
    value: fc.constantFrom(...NEEDLES, '')
  }),
  fc.record({ op: fc.constantFrom('body', 'text'), value: fc.constantFrom(...NEEDLES) })
)

/**
 * @param {import('node:test').TestContext} t
 * @param {{ name: string, bytes: Buffer }[]} mails
 * @returns {Promise<{ check: (key: SearchKey) => Promise<void>, messages: NaiveMessage[], index: () => Promise<unknown> }>}
 */
async function compared(t, mails) {
  const store = await temporaryStore(t, { clock })
  /** @type {(Omit<NaiveMessage, 'uid' | 'sequence' | 'isRecent'> & { bytes: Buffer })[]} */
  const all = mails.map(({ bytes }, index) => ({
    bytes,
    size: bytes.length,
    flags: new Set(FLAGS.filter((_, bit) => (index * 37) % (bit + 2) === 0)),
    internalDate: {
      epochSeconds: NOW_SECONDS - ((index * 7_654_321) % 800_000_000),
      zoneMinutes: ((index % 25) - 12) * 60
    },
    text: readNaively(bytes, htmlToVisibleText)
  }))
  await appendAll(
    store,
    'INBOX',
    all.map(({ bytes, flags, internalDate }) => ({ bytes, flags: [...flags], internalDate }))
  )
  const { view, selected } = await selectIn(store)
  selected.recent.add(20, 60)
  const gone = [3, 4, 5, 50, 61].filter((uid) => uid < all.length)
  await store.changeFlags({
    view,
    uids: gone,
    action: 'add',
    flags: ['\\Deleted'],
    unchangedSince: null,
    origin: 'x'
  })
  await store.expunge({ view, uids: gone, origin: 'x' })
  selected.takeNews({ allowsExpunge: true })
  /** @type {NaiveMessage[]} */
  const messages = all
    .map((message, index) => ({
      ...message,
      uid: index + 1,
      sequence: 0,
      isRecent: index + 1 >= 20 && index + 1 < 60
    }))
    .filter(({ uid }) => !gone.includes(uid))
  for (const [index, message] of messages.entries()) {
    message.sequence = index + 1
    message.flags = new Set([...message.flags].map((flag) => flag.toLowerCase()))
  }
  const context = { nowSeconds: NOW_SECONDS, maxUid: all.length, count: messages.length }
  const check = async (/** @type {SearchKey} */ key) => {
    const slots = await searchMessages({ store, view, selected, key, clock })
    const expected = messages.filter((message) => matchesNaively(key, message, context))
    assert.deepEqual(
      slots.map((slot) => view.uids[slot]),
      expected.map(({ uid }) => uid),
      JSON.stringify(key)
    )
  }
  return { check, messages, index: () => store.indexSearch() }
}

test(
  'random trees over everyday mail find what a naive evaluator finds',
  { skip: corpusIsMissing },
  async (t) => {
    const { check } = await compared(t, [...everydayMessages({ every: 19 })])
    await fc.assert(fc.asyncProperty(searchTree(leafKey, 3), check), { numRuns: 100 })
  }
)

test('every needle over everyday mail, one by one', { skip: corpusIsMissing }, async (t) => {
  const { check, index } = await compared(t, [...everydayMessages({ every: 97 })])
  const checkAll = async () => {
    for (const value of NEEDLES) {
      await check({ op: 'body', value })
      await check({ op: 'text', value })
      for (const field of FIELDS) await check({ op: 'header', field, value })
    }
  }
  await checkAll()
  await index()
  await checkAll()
})

test(
  'every torture message is searched without an error, and each finds its own words',
  { skip: corpusIsMissing },
  async (t) => {
    const store = await temporaryStore(t, { clock })
    const mails = [...tortureMessages()]
    await appendAll(store, 'INBOX', mails)
    const { view, selected } = await selectIn(store)
    const find = (/** @type {SearchKey} */ key) =>
      searchMessages({ store, view, selected, key, clock })
    /** @type {SearchKey} */
    const nowhere = { op: 'text', value: 'such words are in no message of all these' }
    assert.deepEqual(await find(nowhere), [])
    assert.equal((await find({ op: 'not', key: nowhere })).length, mails.length)
    /** @type {Map<string, Set<number>>} */
    const words = new Map()
    for (const [slot, { bytes }] of mails.entries()) {
      const word = longestWord(wholeText(bytes))
      if (word) words.set(word, new Set([...(words.get(word) ?? []), slot]))
    }
    assert.ok(words.size > 300, `${words.size} words`)
    const sample = [...words].filter((_, index) => index % 60 === 0)
    for (const [value, slots] of sample) {
      const found = new Set(await find({ op: 'text', value: swapCase(value) }))
      assert.deepEqual(
        [...slots].filter((slot) => !found.has(slot)),
        [],
        value
      )
    }
  }
)

/**
 * @param {Buffer} bytes
 * @returns {string} all that search may find, read from the whole message at once
 */
function wholeText(bytes) {
  const parser = new MessageParser()
  parser.push(bytes)
  const tree = toPartTree(parser.end().root)
  const read = (/** @type {number} */ start, /** @type {number} */ end) =>
    bytes.subarray(start, end)
  const pieces = [...textPieces(tree, read)].map(({ text }) => text)
  return [searchableHeader(bytes), ...pieces].join('\n')
}

/**
 * @param {string} text
 * @returns {string | undefined} letters outside ASCII preferred, for they are the harder ones
 */
function longestWord(text) {
  const words = text.match(/[\p{L}\p{M}]{3,40}/gu) ?? []
  const foreign = words.filter((word) => /[^\0-\x7f]/.test(word) && !word.includes('\ufffd'))
  return (foreign.length > 0 ? foreign : words).sort((a, b) => b.length - a.length)[0]
}

/**
 * @param {string} word
 * @returns {string} with upper case for lower and the other way round, as far as that is one letter for one
 */
function swapCase(word) {
  const swapped = [...word].map((letter) => {
    const upper = letter.toUpperCase()
    const other = upper === letter ? letter.toLowerCase() : upper
    return new RegExp(`^${letter}$`, 'iu').test(other) ? other : letter
  })
  return swapped.join('')
}
