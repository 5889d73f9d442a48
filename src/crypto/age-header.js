/**
 * The header of an age file (age-encryption.org/v1, "Header"), read and written to the letter: any
 * form but the canonical one is refused.
 *
 *     age-encryption.org/v1 LF
 *     -> TYPE ARGUMENT… LF                       a stanza: the file key, wrapped for one recipient
 *     base64 of the body, 64 columns a line LF    (the last line is shorter, if need be empty)
 *     --- base64(HMAC-SHA256 over all of the above up to "---") LF
 */

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { MailError } from '../errors.js'
import { secretKey } from './secret-key.js'

/** Bytes of the key that a header carries. */
export const FILE_KEY_BYTES = 16
/** Bytes of the random salt between header and payload. */
export const PAYLOAD_NONCE_BYTES = 16

/**
 * At most so many bytes of header are read. Ours is 1.7 KB; 32 hybrid recipients fit, and a file that
 * never ends its header costs no more memory than this.
 */
export const MAX_HEADER_BYTES = 64 * 1024

const VERSION_LINE = 'age-encryption.org/v1'
const COLUMNS = 64
const MAC_BYTES = 32
const LINE_FEED = 0x0a

/**
 * @typedef {object} Stanza
 * @property {string[]} args - the type first
 * @property {Buffer} body
 */

/**
 * @typedef {object} Header
 * @property {Stanza[]} stanzas
 * @property {Buffer} signedBytes - what the MAC covers
 * @property {Buffer} mac
 * @property {number} size - bytes
 */

/**
 * @param {Stanza[]} stanzas
 * @param {Buffer} fileKey - FILE_KEY_BYTES
 * @returns {Buffer}
 */
export function writeHeader(stanzas, fileKey) {
  const lines = [VERSION_LINE]
  for (const { args, body } of stanzas) {
    const text = encodeBase64(body)
    lines.push(['->', ...args].join(' '))
    // A body that fills its last line is followed by an empty one.
    for (let at = 0; at <= text.length; at += COLUMNS) lines.push(text.slice(at, at + COLUMNS))
  }
  const signed = Buffer.from(`${lines.join('\n')}\n---`, 'latin1')
  const mac = headerMac(fileKey, signed)
  return Buffer.concat([signed, Buffer.from(` ${encodeBase64(mac)}\n`, 'latin1')])
}

/**
 * @param {Buffer} bytes - the beginning of a file
 * @returns {Header | null} null where the header is not complete yet
 * @throws {MailError} UNSEAL_FAILED where the bytes cannot be the beginning of a header
 */
export function parseHeader(bytes) {
  const lines = new Lines(bytes)
  const version = lines.next()
  if (version === null) return null
  if (version !== VERSION_LINE) throw refusal('not an age file of version 1')
  /** @type {Stanza[]} */
  const stanzas = []
  for (;;) {
    const lineStart = lines.offset
    const line = lines.next()
    if (line === null) return null
    if (line.startsWith('--- ')) {
      if (stanzas.length === 0) throw refusal('a header without a recipient')
      const mac = requireBase64(line.slice(4))
      if (mac.length !== MAC_BYTES) throw refusal('a header MAC of a wrong length')
      return { stanzas, signedBytes: bytes.subarray(0, lineStart + 3), mac, size: lines.offset }
    }
    const args = parseStanzaStart(line)
    const body = readBody(lines)
    if (body === null) return null
    stanzas.push({ args, body })
  }
}

/**
 * @param {Header} header
 * @param {Buffer} fileKey
 * @throws {MailError} UNSEAL_FAILED where the header was changed
 */
export function requireHeaderMac(header, fileKey) {
  if (!timingSafeEqual(headerMac(fileKey, header.signedBytes), header.mac)) {
    throw refusal('the header does not authenticate')
  }
}

/**
 * @param {Buffer} fileKey
 * @param {Buffer} nonce - PAYLOAD_NONCE_BYTES
 * @returns {Buffer} the key of the payload, the caller's to zero
 */
export function derivePayloadKey(fileKey, nonce) {
  return Buffer.from(hkdfSync('sha256', secretKey(fileKey), nonce, 'payload', 32))
}

/**
 * @param {Buffer} bytes
 * @returns {string} base64 without padding
 */
export function encodeBase64(bytes) {
  return bytes.toString('base64').replace(/=+$/, '')
}

/**
 * @param {string} text
 * @returns {Buffer}
 * @throws {MailError} UNSEAL_FAILED unless it is base64 without padding in its canonical form
 */
export function requireBase64(text) {
  const bytes = Buffer.from(text, 'base64')
  if (encodeBase64(bytes) !== text) throw refusal('a header with base64 that is not canonical')
  return bytes
}

/**
 * @param {Buffer} fileKey
 * @param {Buffer} signed
 */
function headerMac(fileKey, signed) {
  const key = Buffer.from(hkdfSync('sha256', secretKey(fileKey), '', 'header', 32))
  const mac = createHmac('sha256', secretKey(key)).update(signed).digest()
  key.fill(0)
  return mac
}

/** @param {string} line */
function parseStanzaStart(line) {
  const [arrow, ...args] = line.split(' ')
  if (arrow !== '->' || args.length === 0) throw refusal('a header line that starts no stanza')
  for (const arg of args) {
    if (!/^[\x21-\x7e]+$/.test(arg)) throw refusal('a stanza with a bad argument')
  }
  return args
}

/**
 * @param {Lines} lines
 * @returns {Buffer | null} null where more bytes are needed
 */
function readBody(lines) {
  const pieces = []
  for (;;) {
    const line = lines.next()
    if (line === null) return null
    if (line.length > COLUMNS) throw refusal('a stanza line that is too long')
    pieces.push(requireBase64(line))
    if (line.length < COLUMNS) return Buffer.concat(pieces)
  }
}

/** Reads bytes line by line; latin1, so that any byte can be looked at. */
class Lines {
  #bytes
  /** Bytes taken so far. */
  offset = 0

  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.#bytes = bytes
  }

  /** @returns {string | null} null where the line is not complete */
  next() {
    const end = this.#bytes.indexOf(LINE_FEED, this.offset)
    if (end === -1) return null
    const line = this.#bytes.toString('latin1', this.offset, end)
    this.offset = end + 1
    return line
  }
}

/** @param {string} detail */
function refusal(detail) {
  return new MailError('UNSEAL_FAILED', { detail })
}
