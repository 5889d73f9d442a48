/** Untagged responses of one line: RFC 9051 §7.2 to §7.5 and the extensions'. */
import { compileNstring, compileString } from './quoted.js'

/** One piece of a long answer has so many lines: some 16 KiB. */
const EXPUNGES_A_PIECE = 1000

/** @param {string} text */
const line = (text) => Buffer.from(`* ${text}\r\n`, 'latin1')

/**
 * @param {number} count - messages in the mailbox
 * @returns {Buffer} RFC 9051 §7.4.1
 */
export function compileExists(count) {
  return line(`${count} EXISTS`)
}

/**
 * @param {number} count - messages with \Recent
 * @returns {Buffer} RFC 3501 §7.3.2
 */
export function compileRecent(count) {
  return line(`${count} RECENT`)
}

/**
 * @param {Readonly<Uint32Array>} sequenceNumbers - in the order in which they are to be told; may be none
 * @returns {Generator<Buffer, void, void>} RFC 9051 §7.5.1, some lines at a time
 */
export function* compileExpunges(sequenceNumbers) {
  for (let start = 0; start < sequenceNumbers.length; start += EXPUNGES_A_PIECE) {
    const piece = sequenceNumbers.subarray(start, start + EXPUNGES_A_PIECE)
    yield Buffer.from(Array.from(piece, (number) => `* ${number} EXPUNGE\r\n`).join(''), 'latin1')
  }
}

/**
 * @param {readonly string[]} capabilities
 * @returns {Buffer} RFC 9051 §7.2.2
 */
export function compileCapability(capabilities) {
  return line(`CAPABILITY ${capabilities.join(' ')}`)
}

/**
 * @param {readonly string[]} capabilities - that were enabled by this command; may be empty
 * @returns {Buffer} RFC 9051 §7.2.1
 */
export function compileEnabled(capabilities) {
  return line(['ENABLED', ...capabilities].join(' '))
}

/**
 * @param {{ prefix: string, delimiter: string }} personal - the user's own namespace; there are no others
 * @returns {Buffer} RFC 9051 §7.3.2 (NAMESPACE)
 */
export function compileNamespace(personal) {
  const prefix = compileString(personal.prefix).toString('latin1')
  return line(
    `NAMESPACE ((${prefix} ${compileString(personal.delimiter).toString('latin1')})) NIL NIL`
  )
}

/**
 * @param {Iterable<[string, string | null]>} params
 * @returns {Buffer} RFC 2971 §3.2; a well-formed list, because Outlook gives up at anything else
 */
export function compileId(params) {
  const words = [...params].flatMap(([name, value]) => [compileString(name), compileNstring(value)])
  if (words.length === 0) return line('ID NIL')
  return line(`ID (${words.map((word) => word.toString('latin1')).join(' ')})`)
}
