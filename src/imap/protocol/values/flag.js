/** Flags: system flags in their canonical case, keywords as given. RFC 9051 §2.3.2, §9. */
import { ATOM_CHARACTER, isWordOf } from '../character.js'
import { LIMITS } from '../limits.js'
import { badSyntax, SyntaxFailure } from '../syntax-failure.js'

/** The system flags that a client may set. */
const SYSTEM_FLAGS = Object.freeze(['\\Answered', '\\Flagged', '\\Deleted', '\\Seen', '\\Draft'])

const CANONICAL = new Map(SYSTEM_FLAGS.map((flag) => [flag.toLowerCase(), flag]))

/**
 * @param {string} text
 * @returns {string | null} the flag; null for one that nobody can set here, which is ignored (RFC 9051 §7.1,
 *   PERMANENTFLAGS): `\Recent`, the server's own (RFC 3501 §2.3.2), and flags that only other servers have. Clients that
 *   copy messages send them along.
 * @throws {SyntaxFailure}
 */
export function parseFlag(text) {
  if (!text.startsWith('\\')) return parseKeyword(text)
  const flag = CANONICAL.get(text.toLowerCase())
  if (flag !== undefined) return flag
  if (!isWordOf(ATOM_CHARACTER, text.slice(1))) throw badSyntax('Invalid flag')
  return null
}

/**
 * @param {string} text
 * @returns {string} the same
 * @throws {SyntaxFailure}
 */
export function parseKeyword(text) {
  if (!isWordOf(ATOM_CHARACTER, text)) throw badSyntax('Invalid keyword')
  if (text.length > LIMITS.keywordBytes)
    throw new SyntaxFailure('TOO_LONG', 'The keyword is too long')
  return text
}

/**
 * @param {string} text
 * @returns {boolean} whether a client may set this keyword
 */
export function isKeyword(text) {
  return isWordOf(ATOM_CHARACTER, text) && text.length <= LIMITS.keywordBytes
}

/**
 * @param {Iterable<string>} texts
 * @returns {string[]} each flag once, in any case
 * @throws {SyntaxFailure}
 */
export function parseFlags(texts) {
  /** @type {Map<string, string>} */
  const flags = new Map()
  for (const text of texts) {
    const flag = parseFlag(text)
    if (flag !== null && !flags.has(flag.toLowerCase())) flags.set(flag.toLowerCase(), flag)
  }
  return [...flags.values()]
}
