/** STATUS, RFC 9051 §6.3.11; HIGHESTMODSEQ, RFC 7162 §3.1.7. */
import { badSyntax } from '../syntax-failure.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */

/** The items that STATUS, and LIST with RETURN (STATUS …), may ask for. */
const STATUS_ITEMS = Object.freeze([
  'MESSAGES',
  'RECENT',
  'UIDNEXT',
  'UIDVALIDITY',
  'UNSEEN',
  'DELETED',
  'SIZE',
  'HIGHESTMODSEQ',
  'APPENDLIMIT',
  'DELETED-STORAGE',
  'MAILBOXID'
])

/**
 * @param {Arguments} args
 * @returns {{ mailbox: string, items: string[] }} items in upper case, each once
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseStatus(args) {
  const mailbox = args.mailbox()
  const items = parseStatusItems(args)
  args.end()
  return { mailbox, items }
}

/**
 * @param {Arguments} args
 * @returns {string[]}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseStatusItems(args) {
  const items = args.atomList()
  if (!items.every((item) => STATUS_ITEMS.includes(item))) throw badSyntax('Unknown STATUS item')
  return [...new Set(items)]
}
