/** THREAD and UID THREAD, RFC 5256 §5. */
import { badSyntax } from '../syntax-failure.js'
import { parseSearchProgram } from './search.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */
/** @typedef {import('../values/search-key.js').SearchKey} SearchKey */

const ALGORITHMS = Object.freeze(/** @type {const} */ (['REFERENCES', 'ORDEREDSUBJECT']))

/**
 * @typedef {object} ThreadArguments
 * @property {boolean} isUid
 * @property {(typeof ALGORITHMS)[number]} algorithm
 * @property {string} charset - as given
 * @property {SearchKey} key
 */

/**
 * @param {Arguments} args
 * @param {{ isUid: boolean }} command
 * @returns {ThreadArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseThread(args, { isUid }) {
  const name = args.atom()
  const algorithm = ALGORITHMS.find((known) => known === name)
  if (algorithm === undefined) throw badSyntax('Unknown threading algorithm')
  return { isUid, algorithm, ...parseSearchProgram(args) }
}
