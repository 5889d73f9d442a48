/**
 * The last bytes that a client has sent, inflated: the dictionary of the inflater that goes on behind a pause.
 */

/** A client may refer back so many bytes in what it has sent (RFC 1951 §2). */
const WINDOW_BYTES = 32 * 1024
/** Room is made in steps, for at most so many bytes: with twice the window, little is moved to the front. */
const MAX_ROOM_BYTES = 2 * WINDOW_BYTES
const MIN_ROOM_BYTES = 1024

const EMPTY = Buffer.alloc(0)

/** Keeps copies: whoever takes the bytes changes them where they lie, and zeroes those that may be a part of a password. */
export class InflateHistory {
  #bytes = EMPTY
  #length = 0

  /** @returns {Buffer} the end of it, as far as a client may look back; valid until the next call */
  get window() {
    return this.#bytes.subarray(Math.max(0, this.#length - WINDOW_BYTES), this.#length)
  }

  /** @param {Buffer} piece - that was inflated, before anybody else gets it */
  add(piece) {
    const seen = piece.subarray(-WINDOW_BYTES)
    if (this.#length + seen.length > this.#bytes.length) this.#makeRoom(seen.length)
    seen.copy(this.#bytes, this.#length)
    this.#length += seen.length
  }

  /** Gives back the room that is not needed while nothing comes. */
  shrink() {
    this.#keepIn(this.window.length)
  }

  /** @param {number} more - bytes, up to WINDOW_BYTES */
  #makeRoom(more) {
    const wanted = Math.max(MIN_ROOM_BYTES, 2 * (this.#length + more))
    if (this.#bytes.length < MAX_ROOM_BYTES) this.#keepIn(Math.min(wanted, MAX_ROOM_BYTES))
    else this.#length = this.window.copy(this.#bytes)
  }

  /** @param {number} bytes - of room, no less than the window has */
  #keepIn(bytes) {
    const kept = Buffer.allocUnsafeSlow(bytes)
    this.#length = this.window.copy(kept)
    this.#bytes.fill(0)
    this.#bytes = kept
  }
}
