/** CREATE, RFC 9051 §6.3.4, with the USE parameter of RFC 6154 §3. */
import { ATOM_CHARACTER, isWordOf } from '../character.js'
import { badSyntax } from '../syntax-failure.js'
import { HIERARCHY_DELIMITER } from '../values/mailbox-name.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */

/** RFC 6154 §2 and RFC 8457 §3. */
const SPECIAL_USES = [
  '\\All',
  '\\Archive',
  '\\Drafts',
  '\\Flagged',
  '\\Important',
  '\\Junk',
  '\\Sent',
  '\\Trash'
]
const CANONICAL = new Map(SPECIAL_USES.map((use) => [use.toLowerCase(), use]))

/**
 * @param {Arguments} args
 * @returns {{ mailbox: string, specialUse: string[] }} the name without the delimiter at its end, which only says that
 *   mailboxes below it will follow; known special uses in canonical case, others as given
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseCreate(args) {
  const name = args.mailbox()
  const isParent = name.length > 1 && name.endsWith(HIERARCHY_DELIMITER)
  const mailbox = isParent ? name.slice(0, -1) : name
  if (args.left === 0) return { mailbox, specialUse: [] }
  const parameters = args.list()
  args.end()
  if (parameters.atom() !== 'USE') throw badSyntax('Unknown CREATE parameter')
  const uses = parameters.list()
  parameters.end()
  const specialUse = []
  while (uses.left > 0) specialUse.push(parseUse(uses.word()))
  return { mailbox, specialUse: [...new Set(specialUse)] }
}

/** @param {string} text */
function parseUse(text) {
  if (!text.startsWith('\\') || !isWordOf(ATOM_CHARACTER, text.slice(1)))
    throw badSyntax('Invalid special use')
  return CANONICAL.get(text.toLowerCase()) ?? text
}
