/**
 * SEARCH and UID SEARCH, RFC 9051 §6.4.4 and §6.4.9: options first (RETURN, RFC 4731 and RFC 5182; CHARSET), then keys that
 * must all hold.
 */
import { LIMITS } from '../limits.js'
import { badSyntax, SyntaxFailure } from '../syntax-failure.js'
import { parseKeyword } from '../values/flag.js'
import { parseDate } from '../values/internal-date.js'
import { parseNumber64, parseNzNumber } from '../values/number.js'
import { parsePartialRange } from '../values/partial-range.js'
import { allOf } from '../values/search-key.js'
import { SequenceSet } from '../values/sequence-set.js'
import { Arguments } from './arguments.js'
import { searchTextDecoder } from './search-charset.js'

/** @typedef {import('../values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../values/partial-range.js').PartialRange} PartialRange */

/**
 * @typedef {object} SearchReturn - what RETURN asks for
 * @property {string[]} options - of MIN, MAX, ALL, COUNT, SAVE; empty for `RETURN ()`
 * @property {PartialRange | null} partial - the page of PARTIAL, RFC 9394 §3.1; never together with ALL
 */

/**
 * @typedef {object} SearchArguments
 * @property {boolean} isUid
 * @property {string | null} charset - as given; null when the command names none
 * @property {SearchKey} key
 * @property {SearchReturn | null} returns - null without RETURN
 */

const RETURN_OPTIONS = ['MIN', 'MAX', 'ALL', 'COUNT', 'SAVE']

/** `objectid`, RFC 8474 §7. */
const OBJECT_ID = /^[A-Za-z0-9_-]{1,255}$/

const STARTS_SET = /^[0-9*$]/

/**
 * @param {Arguments} args
 * @param {{ isUid: boolean }} command
 * @returns {SearchArguments}
 * @throws {SyntaxFailure}
 */
export function parseSearch(args, { isUid }) {
  const returns = parseReturn(args)
  const charset = args.peekWord() === 'CHARSET' ? parseCharset(args) : null
  return { isUid, charset, key: parseKeys(args, charset), returns }
}

/**
 * What follows the sort keys of SORT and the algorithm of THREAD: a charset, which must be there, and keys. RFC 5256 §5.
 * @param {Arguments} args
 * @returns {{ charset: string, key: SearchKey }} `charset` as given
 * @throws {SyntaxFailure}
 */
export function parseSearchProgram(args) {
  const charset = args.astring().toString('latin1')
  return { charset, key: parseKeys(args, charset) }
}

/**
 * Bad grammar is reported before an unknown charset: in a SORT that names none, the first key is taken for the charset.
 *
 * @param {Arguments} args
 * @param {string | null} charset - null: the command names none
 * @returns {SearchKey} all keys that are left, which must hold together
 * @throws {SyntaxFailure}
 */
function parseKeys(args, charset) {
  const decodeText = searchTextDecoder(charset)
  const key = new KeyReader(decodeText ?? ((bytes) => bytes.toString('latin1'))).readAll(args, 0)
  if (decodeText === null) throw new SyntaxFailure('BAD_CHARSET', 'The charset is not supported')
  return key
}

/**
 * `search-return-opts`, RFC 4731 §4, RFC 9394 §4, if they stand next.
 * @param {Arguments} args
 * @returns {SearchReturn | null} null without RETURN
 * @throws {SyntaxFailure}
 */
export function parseReturn(args) {
  if (args.peekWord() !== 'RETURN') return null
  args.next()
  const list = args.list()
  /** @type {Set<string>} */
  const options = new Set()
  /** @type {PartialRange | null} */
  let partial = null
  while (list.left > 0) {
    const option = list.atom()
    if (option === 'PARTIAL' && partial === null) partial = parsePartialRange(list.word())
    else if (RETURN_OPTIONS.includes(option)) options.add(option)
    else throw badSyntax('Unknown SEARCH return option')
  }
  if (partial !== null && options.has('ALL')) throw badSyntax('PARTIAL and ALL exclude each other')
  return { options: [...options], partial }
}

/**
 * @param {import('../token.js').RawCommand} raw - a SEARCH whose RETURN was understood
 * @returns {boolean} whether its result is to be saved, RFC 5182 §2.1
 */
export function savesResult({ tokens }) {
  return parseReturn(new Arguments(tokens, { isUtf8: false }))?.options.includes('SAVE') === true
}

/** @param {Arguments} args */
function parseCharset(args) {
  args.next()
  return args.astring().toString('latin1')
}

/** Reads keys; each nested key is one level deeper. */
class KeyReader {
  #decodeText

  /** @param {(bytes: Buffer) => string} decodeText */
  constructor(decodeText) {
    this.#decodeText = decodeText
  }

  /**
   * @param {Arguments} args
   * @param {number} depth
   * @returns {SearchKey} all keys that are left, which must hold together
   */
  readAll(args, depth) {
    const keys = []
    do keys.push(this.read(args, depth))
    while (args.left > 0)
    return allOf(keys)
  }

  /**
   * @param {Arguments} args
   * @param {number} depth
   * @returns {SearchKey}
   */
  read(args, depth) {
    if (depth > LIMITS.searchDepth) throw new SyntaxFailure('TOO_DEEP', 'The search is too deep')
    if (args.peek()?.type === 'list') return this.readAll(args.list(), depth + 1)
    const word = args.word()
    if (STARTS_SET.test(word)) return { op: 'sequence', set: SequenceSet.parse(word) }
    const parse = KEYS.get(word.toUpperCase())
    if (parse === undefined) throw badSyntax('Unknown search key')
    return parse(args, this, depth + 1)
  }

  /**
   * Angus Mail enables UTF8=ACCEPT wherever it can, and then sends one byte for each character. After a NO it searches by
   * itself; a BAD is an error to its user.
   * @param {Arguments} args
   * @returns {string}
   */
  readText(args) {
    if (args.isInvalidText())
      throw new SyntaxFailure('BAD_CHARSET', 'A search string is not valid UTF-8')
    return this.#decodeText(args.astring())
  }
}

/** @typedef {(args: Arguments, reader: KeyReader, depth: number) => SearchKey} KeyParser */

/** @type {(key: SearchKey) => KeyParser} */
const constant = (key) => () => key

/** @type {(flag: string, isSet: boolean) => KeyParser} */
const systemFlag = (flag, isSet) => constant({ op: 'flag', flag, isSet })

/** @type {(isSet: boolean) => KeyParser} */
const keyword = (isSet) => (args) => {
  // An atom by the grammar; laminas-mail and others quote it.
  const flag = parseKeyword(args.astring().toString('latin1'))
  return { op: 'flag', flag, isSet }
}

/** @type {(field: string) => KeyParser} */
const header = (field) => (args, reader) => ({ op: 'header', field, value: reader.readText(args) })

/** @type {(which: 'internal' | 'sent' | 'saved', comparison: 'before' | 'on' | 'since') => KeyParser} */
const date = (which, comparison) => (args) => ({
  op: 'date',
  which,
  comparison,
  date: parseDate(args.astring().toString('latin1'))
})

/** @type {(op: 'younger' | 'older') => KeyParser} */
const within = (op) => (args) => ({ op, seconds: parseNzNumber(args.word()) })

/** @type {(op: 'emailId' | 'threadId') => KeyParser} */
const objectId = (op) => (args) => {
  const id = args.astring().toString('latin1')
  if (!OBJECT_ID.test(id)) throw badSyntax('Invalid object identifier')
  return { op, id }
}

/** @type {(op: 'larger' | 'smaller') => KeyParser} */
const size = (op) => (args) => ({ op, size: parseNumber64(args.word()) })

/** @type {(op: 'body' | 'text') => KeyParser} */
const text = (op) => (args, reader) => ({ op, value: reader.readText(args) })

/**
 * RFC 9051 §6.4.4, with the extensions' own.
 * @type {Map<string, KeyParser>}
 */
const KEYS = new Map([
  ['ALL', constant({ op: 'all' })],
  ['ANSWERED', systemFlag('\\Answered', true)],
  ['DELETED', systemFlag('\\Deleted', true)],
  ['DRAFT', systemFlag('\\Draft', true)],
  ['FLAGGED', systemFlag('\\Flagged', true)],
  ['SEEN', systemFlag('\\Seen', true)],
  ['UNANSWERED', systemFlag('\\Answered', false)],
  ['UNDELETED', systemFlag('\\Deleted', false)],
  ['UNDRAFT', systemFlag('\\Draft', false)],
  ['UNFLAGGED', systemFlag('\\Flagged', false)],
  ['UNSEEN', systemFlag('\\Seen', false)],
  ['RECENT', constant({ op: 'recent' })],
  ['NEW', constant({ op: 'new' })],
  ['OLD', constant({ op: 'old' })],
  ['KEYWORD', keyword(true)],
  ['UNKEYWORD', keyword(false)],
  ['FROM', header('FROM')],
  ['TO', header('TO')],
  ['CC', header('CC')],
  ['BCC', header('BCC')],
  ['SUBJECT', header('SUBJECT')],
  ['HEADER', parseHeaderKey],
  ['BODY', text('body')],
  ['TEXT', text('text')],
  ['BEFORE', date('internal', 'before')],
  ['ON', date('internal', 'on')],
  ['SINCE', date('internal', 'since')],
  ['SENTBEFORE', date('sent', 'before')],
  ['SENTON', date('sent', 'on')],
  ['SENTSINCE', date('sent', 'since')],
  // RFC 8514 §4.3; every mailbox of ours has save dates.
  ['SAVEDBEFORE', date('saved', 'before')],
  ['SAVEDON', date('saved', 'on')],
  ['SAVEDSINCE', date('saved', 'since')],
  ['SAVEDATESUPPORTED', constant({ op: 'all' })],
  ['LARGER', size('larger')],
  ['SMALLER', size('smaller')],
  ['UID', (args) => ({ op: 'uid', set: args.set(true) })],
  ['YOUNGER', within('younger')],
  ['OLDER', within('older')],
  ['EMAILID', objectId('emailId')],
  ['THREADID', objectId('threadId')],
  ['MODSEQ', parseModSeqKey],
  ['NOT', (args, reader, depth) => ({ op: 'not', key: reader.read(args, depth) })],
  [
    'OR',
    (args, reader, depth) => ({
      op: 'or',
      left: reader.read(args, depth),
      right: reader.read(args, depth)
    })
  ]
])

/** @type {KeyParser} */
function parseHeaderKey(args, reader) {
  const field = args.astring().toString('latin1')
  return { op: 'header', field, value: reader.readText(args) }
}

/**
 * `"MODSEQ" [SP entry-name SP entry-type-req] SP mod-sequence-value`, RFC 7162 §3.1.5.
 * @type {KeyParser}
 */
function parseModSeqKey(args) {
  if (args.peek()?.type === 'atom') return { op: 'modseq', value: args.number64(), entry: null }
  const name = args.string().toString()
  const type = args.word().toLowerCase()
  if (!name.startsWith('/') || (type !== 'all' && type !== 'priv' && type !== 'shared'))
    throw badSyntax('Invalid MODSEQ entry')
  const entryType = type === 'priv' ? 'private' : type
  return { op: 'modseq', value: args.number64(), entry: { name, type: entryType } }
}
