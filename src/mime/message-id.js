/**
 * Message identifiers of Message-ID, In-Reply-To and References, in the normal form in which they are compared:
 * RFC 5322 §3.6.4, RFC 5256 §2.2.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 */
import { trimSpace } from './header.js'
import { MAX_MESSAGE_ID_BYTES, MAX_REFERENCES } from './limits.js'

/**
 * @param {ByteString} text - the unfolded or raw value of a field
 * @returns {ByteString[]} identifiers with their angle brackets, white space removed, a quoted local part unquoted; one
 *   that follows itself counts once, but in `<a> <b> <a>` the last is the parent (RFC 5256 §3, step 1); of more than
 *   MAX_REFERENCES the first (the thread's root) and the last ones count
 */
export function parseMessageIds(text) {
  /** @type {ByteString[]} */
  const ids = []
  for (const [written] of text.matchAll(/<[^<>]+>/g)) {
    const id = normalForm(written)
    if (id.length > 2 && id.length <= MAX_MESSAGE_ID_BYTES && id !== ids.at(-1)) ids.push(id)
  }
  return ids.length <= MAX_REFERENCES
    ? ids
    : [...ids.slice(0, 1), ...ids.slice(ids.length - MAX_REFERENCES + 1)]
}

/**
 * @param {ByteString} text - the value of a field that should hold one identifier
 * @returns {ByteString | null} the first; a value that is one word with an `@` gets the brackets that it lacks, one or both.
 *   Of several words none is taken for one: `ann@example.org's message of "Mon, 3 May"` names no message
 */
export function parseMessageId(text) {
  const first = parseMessageIds(text)[0]
  if (first !== undefined) return first
  const word = trimSpace(text)
  if (word.length >= MAX_MESSAGE_ID_BYTES) return null
  const bare = /^[<"]*([^\s<>,;"]+@[^\s<>,;"]+)[>",;]*$/.exec(word)?.[1]
  return bare === undefined ? null : `<${bare}>`
}

/**
 * @param {ByteString} written
 * @returns {ByteString}
 */
function normalForm(written) {
  const id = written.replace(/[ \t\r\n]+/g, '')
  return id.replace(/^<"((?:[^"\\]|\\.)*)"@/, (_, local) => `<${local.replace(/\\(.)/g, '$1')}@`)
}
