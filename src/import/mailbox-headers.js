/**
 * Flags that mail programs keep in the header of messages in an mbox: `Status` and `X-Status` (mutt, Alpine, Dovecot),
 * `X-Keywords` (Alpine, Dovecot), `X-Mozilla-Status` and `X-Mozilla-Keys` (Thunderbird).
 */
import { isKeyword } from '../imap/protocol/values/flag.js'

/** @type {Record<string, string>} */
const STATUS_LETTERS = {
  R: '\\Seen',
  A: '\\Answered',
  F: '\\Flagged',
  D: '\\Deleted',
  T: '\\Draft'
}

/** Names, in lower case, of the fields that hold keywords. */
const KEYWORD_FIELDS = new Set(['x-keywords', 'x-mozilla-keys'])

/** Letters that mail programs write into Status and X-Status. A message may have a Status of its own, such as `Delivered`. */
const STATUS = /^[ADFIKNORTUr]*$/

/**
 * Bits of X-Mozilla-Status.
 *
 * @type {[number, string][]}
 */
const MOZILLA_BITS = [
  [0x0001, '\\Seen'],
  [0x0002, '\\Answered'],
  [0x0004, '\\Flagged'],
  [0x0008, '\\Deleted'],
  [0x1000, '$Forwarded']
]

/**
 * @param {Buffer} header - the message's header block, or its beginning
 * @returns {string[]} each flag once
 */
export function flagsFromHeader(header) {
  /** @type {Set<string>} */
  const flags = new Set()
  const fields = header
    .toString('latin1')
    .matchAll(/^(status|x-status|x-keywords|x-mozilla-status|x-mozilla-keys):[ \t]*(.*?)\r?$/gim)
  for (const [, name = '', value = ''] of fields) {
    for (const flag of flagsOf(name.toLowerCase(), value)) flags.add(flag)
  }
  return [...flags]
}

/**
 * @param {string} name - lower case
 * @param {string} value
 * @returns {string[]}
 */
function flagsOf(name, value) {
  if (KEYWORD_FIELDS.has(name)) return value.split(/\s+/).filter(isKeyword)
  if (name === 'x-mozilla-status') {
    const bits = /^[0-9a-f]{4}\b/i.test(value) ? parseInt(value, 16) : 0
    return MOZILLA_BITS.filter(([bit]) => (bits & bit) !== 0).map(([, flag]) => flag)
  }
  if (!STATUS.test(value.trim())) return []
  return [...value].map((letter) => STATUS_LETTERS[letter]).filter((flag) => flag !== undefined)
}
