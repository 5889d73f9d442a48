/**
 * The way in of one connection: bytes are taken from the socket only when they are asked for, so that TCP holds the client
 * back while a command runs, and inflated where the client deflates.
 */
import { InflateInput } from './compression.js'

/** @import { Socket } from 'node:net' */

/**
 * Node stops reading from a client when it holds so many bytes: as many as one TLS record carries (RFC 8446 §5.1), and fewer
 * than one read of a plain socket gives. With more, pieces would be put together in yet another buffer.
 */
export const INPUT_BYTES = 16 * 1024
/** The inflater of a client that has said nothing for so many ms is given back; making another takes some 50 µs. */
const REST_MS = 2000

/** The input of a client from one socket. */
export class ClientInput {
  #socket
  #isTls
  #onReadable
  /** @type {InflateInput | null} */
  #inflate = null
  #hasSocketEnded = false
  #lastInputMs = 0
  #onSocketReadable = () => {
    // Readable without bytes: the input has ended. Node emits 'end' only when somebody reads, and during a command nobody does.
    if (this.#socket.readableLength === 0) this.#socket.read(0)
    this.#onReadable()
  }

  #onEnd = () => {
    this.#hasSocketEnded = true
    this.#onReadable()
  }

  /**
   * @param {Socket} socket - nothing read from it yet
   * @param {object} options
   * @param {boolean} options.isTls - whether it brings records of TLS
   * @param {() => void} options.onReadable - called when `read` may give something, or the input has ended
   */
  constructor(socket, { isTls, onReadable }) {
    this.#socket = socket
    this.#isTls = isTls
    this.#onReadable = onReadable
    socket.on('readable', this.#onSocketReadable)
    socket.on('end', this.#onEnd)
  }

  /** @returns {boolean} whether the client has closed its side, and all before that has been taken from the socket */
  get isHalfClosed() {
    return this.#hasSocketEnded
  }

  /** @returns {boolean} whether nothing more will come */
  get hasEnded() {
    return this.#inflate === null ? this.#hasSocketEnded : this.#inflate.hasEnded
  }

  /**
   * @param {number} nowMs - of the steady clock
   * @returns {Buffer | null} what the client has sent; null: nothing for now
   */
  read(nowMs) {
    const inflate = this.#inflate
    if (inflate === null) return this.#readSocket()
    for (;;) {
      const inflated = inflate.read()
      if (inflated !== null || !inflate.wantsMore) return inflated
      const chunk = this.#readSocket()
      if (chunk === null) {
        if (this.#hasSocketEnded) inflate.end()
        return null
      }
      this.#lastInputMs = nowMs
      inflate.push(chunk)
    }
  }

  /** @returns {Buffer | null} what one TLS record brought, or one read of a plain socket */
  #readSocket() {
    const isPart = this.#isTls && this.#socket.readableLength > INPUT_BYTES
    return /** @type {Buffer | null} */ (this.#socket.read(isPart ? INPUT_BYTES : undefined))
  }

  /**
   * From now on the client deflates (RFC 4978 §3).
   *
   * @param {Buffer} rest - what it has sent already
   */
  inflate(rest) {
    this.#inflate = new InflateInput(this.#onReadable)
    if (rest.length > 0) this.#inflate.push(rest)
  }

  /**
   * Gives the inflater's memory back once the client has been silent for a while.
   *
   * @param {number} nowMs - of the steady clock
   */
  rest(nowMs) {
    if (nowMs - this.#lastInputMs > REST_MS) this.#inflate?.rest()
  }

  /**
   * Gives the memory of received bytes back at once; left to the garbage collector, a large APPEND would be in memory
   * as a whole before it acts. Does nothing where something else may lie in the same memory.
   *
   * @param {Buffer} chunk - of a message, used up
   */
  release(chunk) {
    // The inflater may go on in the memory of what it gave out.
    if (this.#inflate !== null) return
    const { buffer: memory } = chunk
    if (memory instanceof ArrayBuffer && chunk.length === memory.byteLength) memory.transfer(0)
  }

  /** Throws away received bytes that have not been read. */
  discard() {
    while (this.#socket.read() !== null);
  }

  /** Reads no more: the socket is somebody else's now, or about to close. */
  stop() {
    this.#socket.off('readable', this.#onSocketReadable)
    this.#socket.off('end', this.#onEnd)
    this.#inflate?.destroy()
  }
}
