/**
 * SELECT and EXAMINE, RFC 9051 §6.3.2 and §6.3.3, with the parameters of RFC 7162 §3.1.8 (CONDSTORE) and §3.2.5
 * (QRESYNC).
 */
import { badSyntax } from '../syntax-failure.js'
import { parseNzNumber } from '../values/number.js'
import { SequenceSet } from '../values/sequence-set.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @typedef {object} QresyncArguments
 * @property {number} uidValidity
 * @property {number} modSeq
 * @property {SequenceSet | null} knownUids
 * @property {{ sequences: SequenceSet, uids: SequenceSet } | null} seqMatch
 */

/**
 * @typedef {object} SelectArguments
 * @property {string} mailbox
 * @property {boolean} condstore
 * @property {QresyncArguments | null} qresync
 */

/**
 * @param {Arguments} args
 * @returns {SelectArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseSelect(args) {
  /** @type {SelectArguments} */
  const select = { mailbox: args.mailbox(), condstore: false, qresync: null }
  if (args.left === 0) return select
  const parameters = args.list()
  args.end()
  do {
    const name = parameters.atom()
    if (name === 'CONDSTORE') select.condstore = true
    else if (name === 'QRESYNC' && select.qresync === null)
      select.qresync = parseQresync(parameters.list())
    else throw badSyntax('Unknown SELECT parameter')
  } while (parameters.left > 0)
  return select
}

/**
 * @param {Arguments} list
 * @returns {QresyncArguments}
 */
function parseQresync(list) {
  const uidValidity = parseNzNumber(list.word())
  const modSeq = list.number64()
  const knownUids = list.peek()?.type === 'atom' ? knownSet(list) : null
  if (list.left === 0) return { uidValidity, modSeq, knownUids, seqMatch: null }
  const pair = list.list()
  list.end()
  const seqMatch = { sequences: knownSet(pair), uids: knownSet(pair) }
  pair.end()
  return { uidValidity, modSeq, knownUids, seqMatch }
}

/**
 * @param {Arguments} list
 * @returns {SequenceSet} a set of numbers that the client knows, so without `*` and `$`
 */
function knownSet(list) {
  const set = SequenceSet.parse(list.word())
  if (set.hasStar || set.isSearchResult) throw badSyntax('A known set must hold numbers')
  return set
}
