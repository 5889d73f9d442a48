import fc from 'fast-check'

/** @typedef {import('../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */

/**
 * @param {import('fast-check').Arbitrary<SearchKey>} leaf
 * @param {number} depth - of AND, OR and NOT above the leaves
 * @returns {import('fast-check').Arbitrary<SearchKey>} trees that are half leaves at every level
 */
export function searchTree(leaf, depth) {
  if (depth === 0) return leaf
  const below = searchTree(leaf, depth - 1)
  return fc.oneof(
    { arbitrary: leaf, weight: 2 },
    { arbitrary: fc.array(below, { minLength: 1, maxLength: 4 }).map(allOf), weight: 1 },
    { arbitrary: fc.tuple(below, below).map(eitherOf), weight: 1 },
    { arbitrary: below.map(negated), weight: 1 }
  )
}

/**
 * @param {SearchKey[]} keys
 * @returns {SearchKey}
 */
const allOf = (keys) => ({ op: 'and', keys })

/**
 * @param {[SearchKey, SearchKey]} keys
 * @returns {SearchKey}
 */
const eitherOf = ([left, right]) => ({ op: 'or', left, right })

/**
 * @param {SearchKey} key
 * @returns {SearchKey}
 */
const negated = (key) => ({ op: 'not', key })
