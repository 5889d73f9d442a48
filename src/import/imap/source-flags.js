/**
 * The flags of the source, as they are kept here.
 */
import { isKeyword } from '../../imap/protocol/values/flag.js'

const SYSTEM_FLAGS = new Map(
  ['\\Seen', '\\Answered', '\\Flagged', '\\Deleted', '\\Draft'].map((flag) => [
    flag.toLowerCase(),
    flag
  ])
)

/**
 * @param {readonly string[]} flags - as the server sends them; \Recent and what is no flag are left out
 * @returns {string[]} sorted, each once
 */
export function keepableFlags(flags) {
  const kept = flags
    .map((flag) => (flag.startsWith('\\') ? SYSTEM_FLAGS.get(flag.toLowerCase()) : flag))
    .filter((flag) => flag !== undefined && (flag.startsWith('\\') || isKeyword(flag)))
  return [...new Set(/** @type {string[]} */ (kept))].sort()
}

/**
 * @param {readonly string[]} flags - of `keepableFlags`
 * @returns {string} for comparison with what was seen in an earlier run
 */
export const flagsText = (flags) => flags.join(' ')

/**
 * @param {readonly string[]} flags
 * @returns {string[]} without keywords
 */
export const systemFlags = (flags) => flags.filter((flag) => flag.startsWith('\\'))
