/**
 * LIST, RFC 9051 §6.3.9, with the syntax of RFC 5258 (LIST-EXTENDED), RFC 5819 (LIST-STATUS) and RFC 6154 (SPECIAL-USE);
 * LSUB, RFC 3501 §6.3.9.
 */
import { badSyntax, SyntaxFailure } from '../syntax-failure.js'
import { decodeMailboxPattern } from '../values/mailbox-name.js'
import { parseStatusItems } from './status.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */

const SELECTION_OPTIONS = ['SUBSCRIBED', 'REMOTE', 'RECURSIVEMATCH', 'SPECIAL-USE']
const RETURN_OPTIONS = ['SUBSCRIBED', 'CHILDREN', 'SPECIAL-USE']

/**
 * @typedef {object} ListArguments
 * @property {string} reference
 * @property {string[]} patterns - with the wildcards `*` and `%`
 * @property {string[]} selection - of SUBSCRIBED, REMOTE, RECURSIVEMATCH, SPECIAL-USE
 * @property {string[]} returns - of SUBSCRIBED, CHILDREN, SPECIAL-USE
 * @property {string[] | null} statusItems - what RETURN (STATUS …) asks for
 * @property {boolean} isExtended - whether any syntax of RFC 5258 was used
 */

/**
 * @param {Arguments} args
 * @returns {ListArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseList(args) {
  const hasSelection = args.peek()?.type === 'list'
  const selection = hasSelection ? parseSelection(args.list()) : []
  const reference = decodeMailboxPattern(args.astring(), args)
  const hasPatternList = args.peek()?.type === 'list'
  const patterns = hasPatternList ? parsePatterns(args.list()) : [parsePattern(args)]
  const hasReturn = args.left > 0
  if (hasReturn && args.atom() !== 'RETURN') throw badSyntax('Expected RETURN')
  const { returns, statusItems } = hasReturn
    ? parseReturn(args.list())
    : { returns: [], statusItems: null }
  args.end()
  const isExtended = hasSelection || hasPatternList || hasReturn
  return { reference, patterns, selection, returns, statusItems, isExtended }
}

/**
 * @param {Arguments} args
 * @returns {{ reference: string, pattern: string }}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseLsub(args) {
  const reference = decodeMailboxPattern(args.astring(), args)
  const pattern = parsePattern(args)
  args.end()
  return { reference, pattern }
}

/** @param {Arguments} args */
const parsePattern = (args) => decodeMailboxPattern(args.listMailbox(), args)

/**
 * A pattern that is no name in modified UTF-7 matches nothing; the others beside it count as ever (RFC 5258 §3).
 *
 * @param {Arguments} list
 * @returns {string[]}
 */
function parsePatterns(list) {
  const patterns = []
  do {
    try {
      patterns.push(parsePattern(list))
    } catch (error) {
      if (!(error instanceof SyntaxFailure) || error.code !== 'BAD_MAILBOX_NAME') throw error
    }
  } while (list.left > 0)
  return patterns
}

/** @param {Arguments} list */
function parseSelection(list) {
  /** @type {Set<string>} */
  const options = new Set()
  while (list.left > 0) options.add(list.atom())
  for (const option of options)
    if (!SELECTION_OPTIONS.includes(option)) throw badSyntax('Unknown LIST selection option')
  // RECURSIVEMATCH modifies another option and cannot stand by itself, RFC 5258 §3.1.
  if (options.has('RECURSIVEMATCH') && !options.has('SUBSCRIBED') && !options.has('SPECIAL-USE'))
    throw badSyntax('RECURSIVEMATCH needs another selection option')
  return [...options]
}

/** @param {Arguments} list */
function parseReturn(list) {
  /** @type {Set<string>} */
  const returns = new Set()
  /** @type {string[] | null} */
  let statusItems = null
  while (list.left > 0) {
    const option = list.atom()
    if (option === 'STATUS') statusItems = parseStatusItems(list)
    else if (RETURN_OPTIONS.includes(option)) returns.add(option)
    else throw badSyntax('Unknown LIST return option')
  }
  return { returns: [...returns], statusItems }
}
