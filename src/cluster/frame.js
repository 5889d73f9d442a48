/**
 * What workers say to each other over their unix sockets, piece by piece:
 *
 *     4 bytes  length of the JSON text, big-endian
 *     1 byte   length of the secret
 *     …        the JSON text, UTF-8
 *     …        the secret: key bytes, which never become part of a string
 */
import { SecretBuffer } from '../crypto/secret-buffer.js'
import { somethingHappens } from '../support/socket-event.js'

/** @import { Socket } from 'node:net' */

const HEAD_BYTES = 5

/** At most so many bytes of JSON: the largest thing that is sent is the list of a worker's sessions, 5 MB for 20,000. */
const MAX_JSON_BYTES = 16 * 1024 * 1024

/**
 * @typedef {object} Frame
 * @property {any} value - parsed; the sender is this program under the same user, so its shape is taken as it is
 * @property {SecretBuffer} secret - the receiver disposes of it; often empty
 */

/**
 * @param {Socket} socket
 * @param {object} value
 * @param {Uint8Array} [secret] - stays the caller's; the copy is zeroed once it is sent
 * @throws {RangeError} where it is larger than the other side would take
 */
export function writeFrame(socket, value, secret = new Uint8Array(0)) {
  const json = Buffer.from(JSON.stringify(value))
  if (json.length > MAX_JSON_BYTES) throw new RangeError('Too much for one frame')
  const frame = Buffer.alloc(HEAD_BYTES + json.length + secret.length)
  frame.writeUInt32BE(json.length, 0)
  frame.writeUInt8(secret.length, 4)
  json.copy(frame, HEAD_BYTES)
  frame.set(secret, HEAD_BYTES + json.length)
  socket.write(frame, () => {
    if (secret.length > 0) frame.fill(0)
  })
}

/** Puts frames together from what a socket gives. */
class FrameReader {
  /** @type {Buffer[]} */
  #chunks = []
  #bytes = 0

  /** @param {Buffer} chunk - of its own memory; its secret is zeroed once it has been read */
  push(chunk) {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
  }

  /**
   * @returns {Frame | null} null: more bytes are needed
   * @throws {RangeError | SyntaxError} on what no worker sends
   */
  read() {
    if (this.#bytes < HEAD_BYTES) return null
    const head = this.#peek(HEAD_BYTES)
    const jsonBytes = head.readUInt32BE(0)
    const secretBytes = head.readUInt8(4)
    if (jsonBytes > MAX_JSON_BYTES) throw new RangeError('Too much for one frame')
    const size = HEAD_BYTES + jsonBytes + secretBytes
    if (this.#bytes < size) return null
    // Parsed before `#take`: where this throws, the secret is still there for `wipe`.
    const value = JSON.parse(this.#peek(size).toString('utf8', HEAD_BYTES, HEAD_BYTES + jsonBytes))
    const frame = this.#take(size)
    return { value, secret: SecretBuffer.moveFrom(frame.subarray(HEAD_BYTES + jsonBytes)) }
  }

  /** @returns {Buffer} what follows the frames that were read */
  takeRest() {
    return this.#take(this.#bytes)
  }

  /** Zeroes what was not read: a frame that broke off may have left part of its secret there. */
  wipe() {
    for (const chunk of this.#chunks) chunk.fill(0)
    this.#chunks = []
    this.#bytes = 0
  }

  /** @param {number} size - at most `#bytes` */
  #peek(size) {
    const [first] = this.#chunks
    if (first !== undefined && first.length >= size) return first
    const all = Buffer.concat(this.#chunks)
    for (const chunk of this.#chunks) chunk.fill(0)
    this.#chunks = [all]
    return all
  }

  /** @param {number} size */
  #take(size) {
    const first = this.#peek(size)
    const rest = first.subarray(size)
    this.#chunks = rest.length > 0 ? [rest, ...this.#chunks.slice(1)] : this.#chunks.slice(1)
    this.#bytes -= size
    return first.subarray(0, size)
  }
}

/**
 * Calls back with each frame that comes. What is no frame ends the connection.
 *
 * @param {Socket} socket
 * @param {(frame: Frame) => void} onFrame
 */
export function onFrames(socket, onFrame) {
  const reader = new FrameReader()
  socket.on('data', (chunk) => {
    reader.push(/** @type {Buffer} */ (chunk))
    try {
      for (let frame = reader.read(); frame !== null; frame = reader.read()) onFrame(frame)
    } catch {
      // No worker sends such bytes: nothing else on this connection can be trusted.
      socket.destroy()
    }
  })
  socket.on('close', () => reader.wipe())
}

/**
 * Reads one frame and leaves everything behind it on the socket, which is paused then.
 *
 * @param {Socket} socket - nothing has been read from it yet
 * @param {{ timeoutMs: number }} options
 * @returns {Promise<Frame | null>} null where the socket ended, was silent for too long or sent something else
 */
export async function readFrame(socket, { timeoutMs }) {
  const reader = new FrameReader()
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  try {
    for (;;) {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) reader.push(chunk)
      const frame = reader.read()
      if (frame !== null) {
        const rest = reader.takeRest()
        if (rest.length > 0) socket.unshift(rest)
        return frame
      }
      if (socket.destroyed || socket.readableEnded) return null
      await somethingHappens(socket)
    }
  } catch {
    socket.destroy()
    return null
  } finally {
    clearTimeout(timer)
    reader.wipe()
  }
}
