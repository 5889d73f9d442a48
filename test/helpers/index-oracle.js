/**
 * Searches by the index and by a naive scan, side by side.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { searchMessages } from '../../src/store/search/evaluate.js'
import { readMark, readPendingIds } from '../../src/store/search/pending-rows.js'
import { matchesByScan, readWhole } from './search-oracle.js'
import { selectIn } from './selected.js'
import { systemClock as clock } from '../../src/support/clock.js'

/** @typedef {import('../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('./search-oracle.js').ReadableMessage & { size: number }} Known */

/**
 * @param {AccountStore} store
 * @param {string} mailbox
 * @returns {Promise<{ find: (key: SearchKey, signal?: AbortSignal) => Promise<number[]>, uids: () => number[] }>}
 *   a search that tells UIDs, and the UIDs that there are
 */
export async function searcher(store, mailbox) {
  const { view, selected } = await selectIn(store, mailbox)
  return {
    find: async (key, signal) => {
      const request = { store, view, selected, key, clock, ...(signal && { signal }) }
      const slots = await searchMessages(request)
      return slots.map((slot) => /** @type {number} */ (view.uids[slot]))
    },
    uids: () => [...view.uids.subarray(0, view.length)].filter((_, slot) => !view.isExpunged(slot))
  }
}

/**
 * @param {Known[]} known
 * @returns {fc.Arbitrary<SearchKey>} about text that is somewhere in these messages, or nearly
 */
export function keysAbout(known) {
  const term = fc
    .record({
      message: fc.nat({ max: known.length - 1 }),
      inHeader: fc.boolean(),
      place: fc.nat(),
      length: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 3, max: 40 })),
      isSwapped: fc.boolean(),
      isBroken: fc.integer({ min: 0, max: 5 })
    })
    .map(({ message, inHeader, place, length, isSwapped, isBroken }) => {
      const { header, pieces } = /** @type {Known} */ (known[message])
      const text = inHeader ? header : (pieces[place % (pieces.length || 1)] ?? header)
      const letters = [...text.slice(0, 20_000).toWellFormed()]
      const start = place % (letters.length || 1)
      const chosen = letters
        .slice(start, start + length)
        .map((letter) => swapped(letter, isSwapped))
      if (isBroken === 0) chosen.splice(chosen.length >> 1, 1, 'ж')
      return chosen.join('')
    })
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ op: fc.constantFrom('body', 'text'), value: term }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('header'),
        field: fc.constantFrom('subject', 'FROM', 'to', 'cc', 'bcc', 'Message-ID', 'received'),
        value: term
      })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        op: fc.constantFrom('larger', 'smaller'),
        size: fc.integer({ min: 500, max: 20_000 })
      })
    }
  )
}

/**
 * @param {string} letter
 * @param {boolean} isSwapped
 * @returns {string} in the other case, where that is one letter for one and folds to the same
 */
function swapped(letter, isSwapped) {
  const upper = letter.toUpperCase()
  const other = upper === letter ? letter.toLowerCase() : upper
  const isPair = [...other].length === 1 && /^\p{L}$/u.test(letter)
  return isSwapped && isPair && new RegExp(`^${letter}$`, 'iu').test(other) ? other : letter
}

/**
 * @param {Buffer} bytes
 * @returns {Known}
 */
export const knownOf = (bytes) => ({ ...readWhole(bytes), size: bytes.length })

/**
 * @param {{ find: (key: SearchKey) => Promise<number[]> }} searching
 * @param {Map<number, Known>} known - by UID
 * @param {SearchKey} key
 */
export async function check({ find }, known, key) {
  const expected = [...known].filter(([, message]) => matchesByScan(key, message))
  assert.deepEqual(
    await find(key),
    expected.map(([uid]) => uid).sort((left, right) => left - right),
    JSON.stringify(key)
  )
}

const WORDS =
  'meeting meetings Budget kernel linux Grüße Straße привет ПРИВЕТ κόσμος ΚΌΣΜΟΣ 日本語 メール שלום 안녕하세요 ' +
  'საქართველო 𞤀𞤣𞤤𞤢𞤥 😀😁😂 İstanbul ırmak ﬁnal ǅungla 2024 x1y2z3 a bc the and'
const vocabulary = WORDS.split(' ')

/** @type {fc.Arbitrary<Buffer>} */
export const smallMail = fc
  .record({
    subject: fc.array(fc.constantFrom(...vocabulary), { maxLength: 3 }),
    from: fc.constantFrom('ann@example.org', 'Bob <bob@example.net>', 'Grüße <g@example.com>'),
    words: fc.array(fc.constantFrom(...vocabulary), { minLength: 1, maxLength: 8 }),
    glue: fc.constantFrom(' ', '', '-', '\r\n', '\0'),
    html: fc.boolean()
  })
  .map(({ subject, from, words, glue, html }) =>
    Buffer.from(
      `From: ${from}\r\nSubject: ${subject.join(' ')}\r\nMIME-Version: 1.0\r\n` +
        `Content-Type: text/${html ? 'html' : 'plain'}; charset=utf-8\r\n\r\n${words.join(glue)}\r\n`
    )
  )

/**
 * @param {AccountStore} store
 * @param {import('../../src/store/mailbox-view.js').MailboxView} view
 * @param {number[]} uids
 * @param {(uid: number) => void} [onGone]
 */
export async function expungeAll(store, view, uids, onGone = () => undefined) {
  const flags = ['\\Deleted']
  await store.changeFlags({ view, uids, action: 'add', flags, unchangedSince: null, origin: null })
  for (const uid of await store.expunge({ view, uids: null })) onGone(uid)
}

/**
 * @param {AccountStore} store - whose index becomes one that an older program has made, and wrong
 */
export async function makeOlder(store) {
  await store.searchAccess.database.write((db) => {
    db.prepare('UPDATE search_state SET text_version = 1, indexed_count = 1').run()
  })
}

/**
 * @param {AccountStore} store
 * @returns {Promise<number>} contents that are not indexed
 */
export function pendingCount(store) {
  return store.searchAccess.database.read(
    (db) => readPendingIds(db, readMark(db), 0, Number.MAX_SAFE_INTEGER).length
  )
}
