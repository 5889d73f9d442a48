/** STORE and UID STORE, RFC 9051 §6.4.6 and §6.4.9; UNCHANGEDSINCE, RFC 7162 §3.1.3. */
import { badSyntax } from '../syntax-failure.js'
import { parseFlags } from '../values/flag.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */
/** @typedef {import('../values/sequence-set.js').SequenceSet} SequenceSet */

/**
 * @typedef {object} StoreArguments
 * @property {boolean} isUid
 * @property {SequenceSet} set
 * @property {'set' | 'add' | 'remove'} action
 * @property {boolean} isSilent
 * @property {string[]} flags
 * @property {number | null} unchangedSince - a mod-sequence
 */

/** @type {Map<string, { action: 'set' | 'add' | 'remove', isSilent: boolean }>} */
const ACTIONS = new Map([
  ['FLAGS', { action: 'set', isSilent: false }],
  ['+FLAGS', { action: 'add', isSilent: false }],
  ['-FLAGS', { action: 'remove', isSilent: false }],
  ['FLAGS.SILENT', { action: 'set', isSilent: true }],
  ['+FLAGS.SILENT', { action: 'add', isSilent: true }],
  ['-FLAGS.SILENT', { action: 'remove', isSilent: true }]
])

/**
 * @param {Arguments} args
 * @param {{ isUid: boolean }} command
 * @returns {StoreArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseStore(args, { isUid }) {
  const set = args.set(isUid, 2)
  const unchangedSince = args.peek()?.type === 'list' ? parseModifier(args.list()) : null
  const entry = ACTIONS.get(args.word().toUpperCase())
  if (entry === undefined) throw badSyntax('Unknown STORE item')
  const flags = parseStoreFlags(args)
  args.end()
  return { isUid, set, ...entry, flags, unchangedSince }
}

/**
 * `flag-list / (flag *(SP flag))`, RFC 9051 §9.
 * @param {Arguments} args
 * @returns {string[]}
 */
function parseStoreFlags(args) {
  if (args.peek()?.type === 'list') return args.flagList()
  const texts = []
  do texts.push(args.word())
  while (args.left > 0)
  return parseFlags(texts)
}

/**
 * @param {Arguments} list
 * @returns {number}
 */
function parseModifier(list) {
  if (list.atom() !== 'UNCHANGEDSINCE') throw badSyntax('Unknown STORE modifier')
  const modSeq = list.number64()
  list.end()
  return modSeq
}
