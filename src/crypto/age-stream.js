/**
 * The payload of an age file (age-encryption.org/v1, "Payload"): STREAM over ChaCha20-Poly1305.
 *
 *     chunk i = ChaCha20-Poly1305(key, nonce = i as 11 bytes big-endian ‖ isLast as 1 byte)
 *
 * Every chunk but the last holds exactly 64 KiB of plaintext. Number and last-flag are in the nonce,
 * so a chunk that is changed, moved, repeated or missing does not authenticate; the last chunk is
 * empty only where the whole payload is.
 */

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { MailError } from '../errors.js'
import { secretKey } from './secret-key.js'

/** @typedef {import('node:crypto').KeyObject} KeyObject */

/** Plaintext bytes in every chunk but the last. */
export const CHUNK_BYTES = 64 * 1024
/** Bytes that each chunk grows by. */
export const CHUNK_TAG_BYTES = 16
const NONCE_BYTES = 12
const CIPHER = 'chacha20-poly1305'

/** Nonce of the chunks of one payload, in order. */
class ChunkCounter {
  #nonce = Buffer.alloc(NONCE_BYTES)
  #next = 0
  get isFirst() {
    return this.#next === 0
  }

  /**
   * @param {boolean} isLast
   * @returns {Buffer} the next chunk's nonce, valid until the next call
   */
  advance(isLast) {
    // 6 of the 11 counter bytes: 2^48 chunks are 2^64 bytes, more than any file holds.
    this.#nonce.writeUIntBE(this.#next, NONCE_BYTES - 7, 6)
    this.#nonce[NONCE_BYTES - 1] = isLast ? 1 : 0
    this.#next += 1
    return this.#nonce
  }
}

/** Room for a chunk begins with so many bytes: most messages are much smaller than a chunk. */
const FIRST_ROOM_BYTES = 8 * 1024

/** Collects bytes into chunks of one size, and hands a full one on only when more bytes follow it. */
class ChunkBuffer {
  #size
  #bytes = Buffer.alloc(FIRST_ROOM_BYTES)
  #used = 0

  /** @param {number} size - bytes */
  constructor(size) {
    this.#size = size
  }

  /** @returns {Buffer} the collected bytes, a view valid until the next `fill` */
  get collected() {
    return this.#bytes.subarray(0, this.#used)
  }

  /**
   * @param {Buffer} input
   * @param {(full: Buffer) => void} onFull - called with a view for each full chunk that is not the last
   */
  fill(input, onFull) {
    let offset = 0
    while (offset < input.length) {
      if (this.#used === this.#size) {
        onFull(this.#bytes)
        this.#used = 0
      }
      this.#makeRoom(this.#used + input.length - offset)
      const copied = input.copy(this.#bytes, this.#used, offset)
      this.#used += copied
      offset += copied
    }
  }

  destroy() {
    this.#bytes.fill(0)
    this.#used = 0
  }

  /** @param {number} wanted - bytes that are to be collected, if they are no more than a chunk */
  #makeRoom(wanted) {
    const needed = Math.min(wanted, this.#size)
    if (needed <= this.#bytes.length) return
    const bytes = Buffer.alloc(Math.min(Math.max(needed, 2 * this.#bytes.length), this.#size))
    this.#bytes.copy(bytes, 0, 0, this.#used)
    this.#bytes.fill(0)
    this.#bytes = bytes
  }
}

/** Plaintext in, chunks of ciphertext out. Holds one chunk of plaintext at most. */
export class StreamSealer {
  /** @type {KeyObject | null} */
  #key
  #counter = new ChunkCounter()
  #buffer = new ChunkBuffer(CHUNK_BYTES)

  /** @param {Buffer} key - 32 bytes; zeroed here */
  constructor(key) {
    this.#key = secretKey(key)
    key.fill(0)
  }

  /**
   * @param {Buffer} plaintext
   * @returns {Buffer[]} ciphertext that is ready to be written, possibly none
   */
  push(plaintext) {
    /** @type {Buffer[]} */
    const out = []
    this.#buffer.fill(plaintext, (full) => out.push(...this.#seal(full, false)))
    return out
  }

  /** @returns {Buffer[]} the rest of the payload; the key is let go */
  end() {
    const out = this.#seal(this.#buffer.collected, true)
    this.destroy()
    return out
  }

  /** Zeroes the plaintext and lets the key go; for a payload that is given up. Harmless when repeated. */
  destroy() {
    this.#key = null
    this.#buffer.destroy()
  }

  /**
   * @param {Buffer} chunk
   * @param {boolean} isLast
   */
  #seal(chunk, isLast) {
    const cipher = createCipheriv(CIPHER, held(this.#key), this.#counter.advance(isLast), {
      authTagLength: CHUNK_TAG_BYTES
    })
    const sealed = cipher.update(chunk)
    cipher.final()
    return [sealed, cipher.getAuthTag()]
  }
}

/** Ciphertext in, authenticated plaintext out. Holds one chunk at most. */
export class StreamOpener {
  /** @type {KeyObject | null} */
  #key
  #counter = new ChunkCounter()
  #buffer = new ChunkBuffer(CHUNK_BYTES + CHUNK_TAG_BYTES)

  /** @param {Buffer} key - 32 bytes; zeroed here */
  constructor(key) {
    this.#key = secretKey(key)
    key.fill(0)
  }

  /**
   * @param {Buffer} ciphertext
   * @returns {Buffer[]} plaintext of the chunks that authenticated
   * @throws {MailError} UNSEAL_FAILED
   */
  push(ciphertext) {
    /** @type {Buffer[]} */
    const out = []
    this.#buffer.fill(ciphertext, (full) => out.push(this.#open(full, false)))
    return out
  }

  /**
   * @returns {Buffer[]} the rest of the plaintext; the key is let go
   * @throws {MailError} UNSEAL_FAILED where the payload ends too early
   */
  end() {
    const isOnlyChunk = this.#counter.isFirst
    const plaintext = this.#open(this.#buffer.collected, true)
    if (plaintext.length === 0 && !isOnlyChunk) throw refusal('the last chunk is empty')
    this.destroy()
    return plaintext.length === 0 ? [] : [plaintext]
  }

  /** Lets the key go. Harmless when repeated. */
  destroy() {
    this.#key = null
    this.#buffer.destroy()
  }

  /**
   * @param {Buffer} chunk
   * @param {boolean} isLast
   * @returns {Buffer}
   */
  #open(chunk, isLast) {
    const size = chunk.length - CHUNK_TAG_BYTES
    if (size < 0) throw refusal('the payload ends inside a chunk')
    const decipher = createDecipheriv(CIPHER, held(this.#key), this.#counter.advance(isLast), {
      authTagLength: CHUNK_TAG_BYTES
    })
    decipher.setAuthTag(chunk.subarray(size))
    const plaintext = decipher.update(chunk.subarray(0, size))
    try {
      decipher.final()
    } catch (cause) {
      plaintext.fill(0)
      throw refusal('a chunk does not authenticate', cause)
    }
    return plaintext
  }
}

/**
 * @param {KeyObject | null} key
 * @returns {KeyObject}
 * @throws {MailError} KEY_UNAVAILABLE once the key has been let go
 */
function held(key) {
  if (key === null) throw new MailError('KEY_UNAVAILABLE')
  return key
}

/**
 * @param {string} detail
 * @param {unknown} [cause]
 */
function refusal(detail, cause) {
  return new MailError('UNSEAL_FAILED', { detail, ...(cause === undefined ? {} : { cause }) })
}
