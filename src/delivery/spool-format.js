/**
 * What is inside a sealed spool file, before it is sealed. All numbers are big-endian.
 *
 *     version   1 byte    1
 *     envelope  4 bytes   length in bytes, at most 16 KiB
 *               n bytes   JSON, UTF-8: { recipient, sender, receivedAtMs }; a reader ignores other fields
 *     block     4 bytes   length in bytes, not 0          ┐ any number of blocks: the message, whose
 *               n bytes   the next bytes of the message   ┘ length nobody knows when it begins
 *     end       4 bytes   0
 *     padding   n bytes   zeros, up to `paddedBytes` of all that stands before
 *
 * The size of a file is all that its ciphertext tells, so it is rounded up: to 4 KiB at least, then as
 * Padmé does (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files", 2019, §4): a size keeps as
 * many leading bits as its exponent has bits. That costs at most 12 %, and leaves 16 sizes to each doubling
 * below 64 KiB, 32 above it.
 */

import { MailError } from '../errors.js'

const VERSION = 1
/** A plaintext has at least so many bytes: most mail without attachments looks alike, and a disk block is no smaller. */
const MIN_PADDED_BYTES = 4096
/** An envelope has at most so many bytes. Its addresses have 254 each (RFC 5321 §4.5.3.1.3); the rest is for later fields. */
const MAX_ENVELOPE_BYTES = 16 * 1024
/** A block has at most so many bytes, both written and read; pieces from a socket are no larger. */
const MAX_BLOCK_BYTES = 1024 * 1024
const LENGTH_BYTES = 4
const ZEROS = Buffer.alloc(64 * 1024)

/**
 * @typedef {object} SpoolEnvelope
 * @property {string} recipient - the address as the sender's server gave it
 * @property {string} sender - the return path; empty for a bounce
 * @property {number} receivedAtMs - when the message was accepted, milliseconds since 1970
 */

/**
 * @param {number} sizeBytes
 * @returns {number} the padded size in bytes, at least `sizeBytes`; many sizes share one
 */
export function paddedBytes(sizeBytes) {
  if (sizeBytes <= MIN_PADDED_BYTES) return MIN_PADDED_BYTES
  const exponent = Math.floor(Math.log2(sizeBytes))
  const keptBits = Math.floor(Math.log2(exponent)) + 1
  const step = 2 ** (exponent - keptBits)
  return Math.ceil(sizeBytes / step) * step
}

/** Makes the plaintext of one spool file: `start`, any number of `block`, `end`. */
export class SpoolPlaintextWriter {
  #sizeBytes = 0

  /**
   * @param {SpoolEnvelope} envelope
   * @returns {Buffer}
   * @throws {MailError} SEAL_FAILED where it is too long
   */
  start({ recipient, sender, receivedAtMs }) {
    const json = Buffer.from(JSON.stringify({ recipient, sender, receivedAtMs }), 'utf8')
    if (json.length > MAX_ENVELOPE_BYTES) {
      throw new MailError('SEAL_FAILED', { detail: 'an envelope that is too long' })
    }
    return this.#count(Buffer.concat([Buffer.of(VERSION), lengthPrefix(json.length), json]))
  }

  /**
   * @param {Buffer} bytes - the next bytes of the message
   * @returns {Buffer[]}
   */
  block(bytes) {
    const pieces = []
    for (let at = 0; at < bytes.length; at += MAX_BLOCK_BYTES) {
      const piece = bytes.subarray(at, at + MAX_BLOCK_BYTES)
      pieces.push(this.#count(lengthPrefix(piece.length)), this.#count(piece))
    }
    return pieces
  }

  /**
   * @returns {Generator<Buffer>} end mark and padding, in pieces of at most 64 KiB
   */
  *end() {
    yield this.#count(lengthPrefix(0))
    let missing = paddedBytes(this.#sizeBytes) - this.#sizeBytes
    while (missing > 0) {
      const piece = ZEROS.subarray(0, missing)
      yield piece
      missing -= piece.length
    }
  }

  /** @param {Buffer} bytes */
  #count(bytes) {
    this.#sizeBytes += bytes.length
    return bytes
  }
}

/** @typedef {'version' | 'envelopeLength' | 'envelope' | 'blockLength' | 'block' | 'padding'} ReaderState */

/** Takes the plaintext of one spool file apart again, in any chunking. */
export class SpoolPlaintextReader {
  /** @type {ReaderState} */
  #state = 'version'
  /** Bytes that are still missing in the present state. */
  #missing = 1
  /** @type {Buffer[]} pieces of a length or of the envelope */
  #held = []
  #sizeBytes = 0
  #contentBytes = 0
  /** @type {SpoolEnvelope | null} null until it has been read */
  envelope = null

  /**
   * @param {Buffer} plaintext
   * @returns {Buffer[]} the next bytes of the message, as views of `plaintext`
   * @throws {MailError} UNSEAL_FAILED where the plaintext is none that `SpoolPlaintextWriter` makes
   */
  push(plaintext) {
    const message = []
    let offset = 0
    while (offset < plaintext.length) {
      if (this.#state === 'padding') {
        requireZeros(plaintext.subarray(offset))
        this.#sizeBytes += plaintext.length - offset
        break
      }
      const piece = plaintext.subarray(offset, offset + this.#missing)
      offset += piece.length
      this.#sizeBytes += piece.length
      this.#missing -= piece.length
      if (this.#state === 'block') message.push(piece)
      else this.#held.push(piece)
      if (this.#missing === 0) this.#advance()
    }
    return message
  }

  /**
   * @returns {SpoolEnvelope}
   * @throws {MailError} UNSEAL_FAILED where the plaintext is not whole
   */
  end() {
    if (this.#state !== 'padding' || this.envelope === null) throw refusal('it ends too early')
    if (this.#sizeBytes !== paddedBytes(this.#contentBytes)) throw refusal('its padding is wrong')
    return this.envelope
  }

  #advance() {
    const bytes = Buffer.concat(this.#held)
    this.#held = []
    switch (this.#state) {
      case 'version':
        if (bytes[0] !== VERSION) throw refusal('a version that this program does not know')
        return this.#expect('envelopeLength', LENGTH_BYTES)
      case 'envelopeLength':
        return this.#expect('envelope', requireLength(bytes, MAX_ENVELOPE_BYTES))
      case 'envelope':
        this.envelope = parseEnvelope(bytes)
        return this.#expect('blockLength', LENGTH_BYTES)
      case 'block':
        return this.#expect('blockLength', LENGTH_BYTES)
      case 'blockLength':
        if (bytes.readUInt32BE(0) !== 0) {
          return this.#expect('block', requireLength(bytes, MAX_BLOCK_BYTES))
        }
        this.#contentBytes = this.#sizeBytes
        return this.#expect('padding', Infinity)
    }
  }

  /**
   * @param {ReaderState} state
   * @param {number} bytes
   */
  #expect(state, bytes) {
    this.#state = state
    this.#missing = bytes
  }
}

/** @param {number} value */
function lengthPrefix(value) {
  const bytes = Buffer.alloc(LENGTH_BYTES)
  bytes.writeUInt32BE(value)
  return bytes
}

/**
 * @param {Buffer} bytes
 * @param {number} maximum
 */
function requireLength(bytes, maximum) {
  const length = bytes.readUInt32BE(0)
  if (length === 0 || length > maximum) throw refusal('a length out of bounds')
  return length
}

/** @param {Buffer} bytes */
function requireZeros(bytes) {
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const piece = bytes.subarray(at, at + ZEROS.length)
    if (!piece.equals(ZEROS.subarray(0, piece.length))) throw refusal('bytes after its end')
  }
}

/**
 * @param {Buffer} bytes
 * @returns {SpoolEnvelope}
 */
function parseEnvelope(bytes) {
  /** @type {any} */
  let value
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new MailError('UNSEAL_FAILED', { detail: 'its envelope is not JSON', cause })
  }
  const { recipient, sender, receivedAtMs } = value ?? {}
  const isEnvelope =
    typeof recipient === 'string' && typeof sender === 'string' && Number.isFinite(receivedAtMs)
  if (!isEnvelope) throw refusal('its envelope lacks a field')
  return { recipient, sender, receivedAtMs }
}

/** @param {string} what */
function refusal(what) {
  return new MailError('UNSEAL_FAILED', { detail: `spool file: ${what}` })
}
