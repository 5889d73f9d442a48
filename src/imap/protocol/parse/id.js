/**
 * ID, RFC 2971 §3.1. Its values only go to the log, so no fault in them is worth a BAD that would end a client's login: values
 * may be atoms, the last value may be missing, and values over a limit are cut.
 */
import { LIMITS } from '../limits.js'
import { badSyntax } from '../syntax-failure.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @param {Arguments} args
 * @returns {{ params: Map<string, string | null> | null }} names in lower case; null for NIL
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseId(args) {
  if (args.peekWord() === 'NIL') {
    args.next()
    args.end()
    return { params: null }
  }
  const list = args.list()
  args.end()
  /** @type {Map<string, string | null>} */
  const params = new Map()
  while (list.left > 0) {
    const name = readText(list, LIMITS.idNameBytes)?.toLowerCase() ?? ''
    const value = list.left > 0 ? readText(list, LIMITS.idValueBytes) : null
    if (params.size < LIMITS.idFields && !params.has(name)) params.set(name, value)
  }
  return { params }
}

/**
 * @param {Arguments} list
 * @param {number} maxBytes
 * @returns {string | null} null for NIL
 */
function readText(list, maxBytes) {
  const token = list.next()
  if (token.type === 'string') return token.bytes.subarray(0, maxBytes).toString()
  if (token.type !== 'atom') throw badSyntax('Expected a string')
  return token.text.toUpperCase() === 'NIL' ? null : token.bytes.subarray(0, maxBytes).toString()
}
