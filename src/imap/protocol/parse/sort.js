/**
 * SORT and UID SORT, RFC 5256 §5, with the keys of RFC 5957 §5 and the return options of RFC 5267 §3.1 (ESORT).
 */
import { badSyntax } from '../syntax-failure.js'
import { parseReturn, parseSearchProgram } from './search.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */
/** @typedef {import('./search.js').SearchReturn} SearchReturn */
/** @typedef {import('../values/search-key.js').SearchKey} SearchKey */

const SORT_KEYS = Object.freeze(
  /** @type {const} */ ([
    'ARRIVAL',
    'CC',
    'DATE',
    'DISPLAYFROM',
    'DISPLAYTO',
    'FROM',
    'SIZE',
    'SUBJECT',
    'TO'
  ])
)

/** @typedef {(typeof SORT_KEYS)[number]} SortKey */

/**
 * @typedef {object} SortArguments
 * @property {boolean} isUid
 * @property {{ key: SortKey, isReverse: boolean }[]} criteria - each key once: a later one of the same key never decides
 * @property {string} charset - as given
 * @property {SearchKey} key
 * @property {SearchReturn | null} returns - null without RETURN
 */

/**
 * @param {Arguments} args
 * @param {{ isUid: boolean }} command
 * @returns {SortArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseSort(args, { isUid }) {
  const returns = parseReturn(args)
  const criteria = parseCriteria(args.list())
  const { charset, key } = parseSearchProgram(args)
  return { isUid, criteria, charset, key, returns }
}

/**
 * @param {Arguments} list
 * @returns {SortArguments['criteria']}
 */
function parseCriteria(list) {
  /** @type {Map<SortKey, { key: SortKey, isReverse: boolean }>} */
  const criteria = new Map()
  do {
    const word = list.atom()
    const isReverse = word === 'REVERSE'
    const name = isReverse ? list.atom() : word
    const key = SORT_KEYS.find((known) => known === name)
    if (key === undefined) throw badSyntax('Unknown sort key')
    if (!criteria.has(key)) criteria.set(key, { key, isReverse })
  } while (list.left > 0)
  return [...criteria.values()]
}
