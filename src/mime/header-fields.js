/**
 * The header fields that mail programs ask for in message lists, in a form from which any choice of them is copied
 * without looking for line ends and names again.
 *
 *     index     1 byte n, then n times: number of the field in LISTED_FIELDS (1 byte), length of its lines (2 bytes,
 *               lowest first); in the order of the header
 *     lines     of all listed fields but Received, as they stand in the header, folds and line ends included
 *
 * The lines of Received, which only some programs ask for and which are longer than all the others together, stand by
 * themselves.
 */
import { scanHeader } from './header.js'

/**
 * The fields that Thunderbird, K-9, Apple Mail, NeoMutt, mutt, Roundcube and imapflow ask for. A field is stored as its place
 * in this list: append only.
 */
const LISTED_FIELDS = [
  'received',
  'from',
  'to',
  'cc',
  'bcc',
  'subject',
  'date',
  'message-id',
  'priority',
  'x-priority',
  'references',
  'newsgroups',
  'in-reply-to',
  'content-type',
  'reply-to',
  'sender',
  'list-id',
  'list-post',
  'list-help',
  'list-subscribe',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'list-archive',
  'list-owner',
  'content-description',
  'content-transfer-encoding',
  'lines',
  'x-label',
  'x-original-to',
  'delivered-to',
  'autocrypt',
  'importance',
  'x-msmail-priority',
  'x-uniform-type-identifier',
  'x-universally-unique-identifier',
  'x-spam-flag',
  'x-spam-status',
  'x-spam-score',
  'x-spam-level',
  'x-mailer',
  'user-agent',
  'disposition-notification-to',
  'followup-to',
  'mail-followup-to',
  'mail-reply-to',
  'return-path',
  'resent-from',
  'resent-to',
  'resent-date',
  'auto-submitted',
  'precedence',
  'mime-version',
  'x-tuid',
  'x-offlineimap',
  'x-mozilla-draft-info',
  'x-draft-info',
  'thread-topic',
  'thread-index',
  'x-forwarded-message-id',
  'x-identity-key',
  'x-k9mail-identity',
  'chat-version'
]

const RECEIVED = 0
const NUMBERS = new Map(LISTED_FIELDS.map((name, number) => [name, number]))
const LONGEST_NAME = Math.max(...LISTED_FIELDS.map(({ length }) => length))

/** An index has at most so many entries. */
const MAX_LINES = 255
/** The lines of a message have at most so many bytes, so that a page of messages stays small; usual are 1 to 4 KB. Below 2^16. */
const MAX_TOTAL_BYTES = 32_768

const ENTRY_BYTES = 3
const BLANK_LINE = Buffer.from('\r\n')

/**
 * @typedef {object} ListedFields
 * @property {Buffer} fields - index and lines
 * @property {Buffer | null} received - the lines of Received; null if there are none
 */

/**
 * @param {Buffer} block - the header block of a message
 * @returns {ListedFields | null} null for a header that is not listed (too many or too long lines, or one that is cut
 *   off in its last line)
 */
export function listFields(block) {
  /** @type {{ number: number, start: number, end: number }[]} */
  const lines = []
  let total = 0
  const headerEnd = scanHeader(block, (start, nameEnd, _, end) => {
    const length = nameEnd - start
    if (length < 2 || length > LONGEST_NAME) return
    const number = NUMBERS.get(block.toString('latin1', start, nameEnd).toLowerCase())
    if (number === undefined) return
    total += end - start
    lines.push({ number, start, end })
  })
  const last = block[headerEnd - 1]
  const isWhole = last === 10 || last === 13
  if (!isWhole || lines.length > MAX_LINES || total > MAX_TOTAL_BYTES) return null
  const receivedBytes = lines.reduce(
    (sum, { number, start, end }) => (number === RECEIVED ? sum + end - start : sum),
    0
  )
  const fields = Buffer.allocUnsafe(1 + lines.length * ENTRY_BYTES + total - receivedBytes)
  const received = receivedBytes > 0 ? Buffer.allocUnsafe(receivedBytes) : null
  let index = fields.writeUInt8(lines.length, 0)
  let at = 1 + lines.length * ENTRY_BYTES
  let receivedAt = 0
  for (const { number, start, end } of lines) {
    index = fields.writeUInt8(number, index)
    index = fields.writeUInt16LE(end - start, index)
    if (number === RECEIVED) receivedAt += block.copy(received ?? fields, receivedAt, start, end)
    else at += block.copy(fields, at, start, end)
  }
  return { fields, received }
}

/** A choice of listed fields, made once for all commands that ask for the same. */
export class FieldChoice {
  #isChosen = new Uint8Array(256)

  /** @param {readonly number[]} numbers */
  constructor(numbers) {
    for (const number of numbers) this.#isChosen[number] = 1
  }

  /** @returns {boolean} whether the lines of Received are needed */
  get needsReceived() {
    return this.#isChosen[RECEIVED] === 1
  }

  /**
   * @param {Buffer} fields - has a message's index at `at`
   * @param {number} at
   * @returns {number} bytes of what `copy` writes
   */
  sizeOf(fields, at) {
    const isChosen = this.#isChosen
    const count = /** @type {number} */ (fields[at])
    let bytes = BLANK_LINE.length
    for (let line = 0, entry = at + 1; line < count; line++, entry += ENTRY_BYTES) {
      if (isChosen[/** @type {number} */ (fields[entry])] === 1) bytes += lengthAt(fields, entry)
    }
    return bytes
  }

  /**
   * Copies the chosen fields, each with its folds, and a blank line: the same bytes as `filterHeader` gives.
   *
   * @param {Buffer} fields
   * @param {number} at - where the message's index begins
   * @param {Buffer} received - of the same message; not looked at unless it is needed
   * @param {number} receivedAt - where its lines begin
   * @param {Buffer} target - with room for `sizeOf` bytes
   * @param {number} targetAt
   */
  copy(fields, at, received, receivedAt, target, targetAt) {
    const isChosen = this.#isChosen
    const count = /** @type {number} */ (fields[at])
    let lines = at + 1 + count * ENTRY_BYTES
    let passed = receivedAt
    let to = targetAt
    // Chosen lines that are neighbours are copied as one run.
    let run = lines
    for (let line = 0, entry = at + 1; line < count; line++, entry += ENTRY_BYTES) {
      const number = /** @type {number} */ (fields[entry])
      const length = lengthAt(fields, entry)
      if (number === RECEIVED) {
        if (isChosen[RECEIVED] === 1) {
          to += copyRun(fields, run, lines, target, to)
          run = lines
          to += copyRun(received, passed, passed + length, target, to)
          passed += length
        }
        continue
      }
      if (isChosen[number] !== 1) {
        to += copyRun(fields, run, lines, target, to)
        run = lines + length
      }
      lines += length
    }
    to += copyRun(fields, run, lines, target, to)
    target[to] = 13
    target[to + 1] = 10
  }
}

/**
 * @param {readonly string[]} names - in any case
 * @returns {FieldChoice | null} null if one of them is not listed
 */
export function chooseFields(names) {
  const numbers = []
  for (const name of names) {
    const number = NUMBERS.get(name.toLowerCase())
    if (number === undefined) return null
    numbers.push(number)
  }
  return new FieldChoice(numbers)
}

/**
 * @param {Buffer} fields
 * @param {number} entry - where an entry of the index begins
 * @returns {number}
 */
function lengthAt(fields, entry) {
  const low = /** @type {number} */ (fields[entry + 1])
  const high = /** @type {number} */ (fields[entry + 2])
  return low + high * 256
}

/**
 * @param {Buffer} source
 * @param {number} from
 * @param {number} to
 * @param {Buffer} target
 * @param {number} targetAt
 * @returns {number} bytes copied
 */
function copyRun(source, from, to, target, targetAt) {
  return from === to ? 0 : source.copy(target, targetAt, from, to)
}
