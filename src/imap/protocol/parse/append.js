/**
 * APPEND, RFC 9051 §6.3.12: `"APPEND" SP mailbox [SP flag-list] [SP date-time] SP literal`, repeated after the mailbox with
 * MULTIAPPEND (RFC 3502). The literals have gone by when the command is complete; `UTF8 (~{n}…)` is RFC 6855 §4.
 */
import { badSyntax } from '../syntax-failure.js'
import { parseInternalDate } from '../values/internal-date.js'
import { Arguments } from './arguments.js'

/** @typedef {import('../values/internal-date.js').InternalDate} InternalDate */

/**
 * @typedef {object} AppendMessage
 * @property {string[]} flags
 * @property {InternalDate | null} internalDate
 * @property {number} size - bytes
 */

/**
 * @typedef {object} AppendStart - the arguments of a message, which come before its first byte
 * @property {string} mailbox
 * @property {string[]} flags
 * @property {InternalDate | null} internalDate
 */

/**
 * @param {Arguments} args
 * @returns {{ mailbox: string, messages: AppendMessage[] }}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseAppend(args) {
  const mailbox = args.mailbox()
  const messages = []
  do {
    const options = parseOptions(args)
    messages.push({ ...options, size: parseMessage(args) })
  } while (args.left > 0)
  return { mailbox, messages }
}

/**
 * Reads the beginning of an APPEND at the receiver's `message` event, and checks all arguments before the literal.
 * @param {import('../token.js').RawCommand} raw - the tokens so far
 * @param {{ isUtf8: boolean }} [options] - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {AppendStart} of the message that is about to come, the last one with MULTIAPPEND
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseAppendStart(raw, { isUtf8 } = { isUtf8: false }) {
  const first = new Arguments(raw.tokens.slice(0, 1), { isUtf8 })
  const mailbox = first.mailbox()
  // With MULTIAPPEND only the arguments after the last message are new: the others were checked at that message.
  const afterLast = raw.tokens.findLastIndex(isMessage) + 1
  const args = new Arguments(raw.tokens.slice(Math.max(afterLast, 1)), { isUtf8 })
  const options = parseOptions(args)
  if (args.left > 0 && args.atom() !== 'UTF8') throw badSyntax('Expected a literal')
  if (args.left > 0) args.list().end()
  args.end()
  return { mailbox, ...options }
}

/**
 * @param {import('../token.js').Token} token
 * @returns {boolean} whether it is a message whose bytes have gone by, in `UTF8 (…)` or not
 */
function isMessage(token) {
  if (token.type === 'list') return token.items.some(({ type }) => type === 'streamed')
  return token.type === 'streamed'
}

/**
 * @param {Arguments} args
 * @returns {{ flags: string[], internalDate: InternalDate | null }}
 */
function parseOptions(args) {
  const flags = args.peek()?.type === 'list' ? args.flagList() : []
  const hasDate = args.peek()?.type === 'string'
  const internalDate = hasDate ? parseInternalDate(args.string().toString('latin1')) : null
  return { flags, internalDate }
}

/**
 * @param {Arguments} args
 * @returns {number} the message's size in bytes
 */
function parseMessage(args) {
  let token = args.next()
  if (token.type === 'atom' && token.text.toUpperCase() === 'UTF8') {
    const list = args.list()
    token = list.next()
    list.end()
  }
  if (token.type !== 'streamed') throw badSyntax('Expected a literal')
  return token.size
}
