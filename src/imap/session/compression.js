/**
 * Raw deflate for one connection, RFC 4978: replies are deflated batch by batch, input is inflated as it is asked for.
 *
 * An idle connection must stay small. Nothing of a deflater outlives its batch: each batch is a deflate stream of its
 * own that begins with the end of the batch before as its dictionary and ends with a sync flush, at a byte. For the
 * client that is one stream. The inflater (some 90 kB with its window and Node's stream around it) is let go when the
 * client has been silent for a while behind a sync flush, and a new one goes on with the same history.
 *
 * No decompression bomb: the inflater stops when READ_AHEAD_BYTES of its output have not been taken, and takes no
 * further input from the socket until they have been; what is taken passes the receiver's limits like any other.
 */
import { constants, createInflateRaw, deflateRaw, deflateRawSync } from 'node:zlib'
import { InflateHistory } from './inflate-history.js'

/** @import { InflateRaw } from 'node:zlib' */

/** A batch has at most so many bytes: 64 KiB are some 0.7 ms of work, and larger batches do not compress better. */
const BATCH_BYTES = 64 * 1024
/** A batch of at most so many bytes is deflated at once: the way to a thread and back costs as much. */
const INLINE_BYTES = 4 * 1024
/**
 * A connection keeps so many bytes of its output as the next batch's dictionary. The number matters little: measured on
 * 64 KiB batches of a flag scan, headers and whole messages, 7.6, 3.3 and 1.8 to 1 with 8 KiB kept, 7.4, 3.4 and 1.8 with 32 KiB.
 */
const DICTIONARY_BYTES = 4 * 1024
/** At most so many inflated bytes wait to be taken: a command line as a rule; a message comes in pieces of this size. */
const READ_AHEAD_BYTES = 16 * 1024
/** The last bytes of a sync flush: an empty stored block, whose three bits of head stand before, up to a whole byte. */
const SYNC_FLUSH = Buffer.from([0x00, 0x00, 0xff, 0xff])

const DEFLATE_OPTIONS = Object.freeze({
  windowBits: 14,
  memLevel: 7,
  level: 6,
  finishFlush: constants.Z_SYNC_FLUSH
})
/**
 * Options for batches no longer than the window: 32 KiB of working memory in place of 130. Taken and given back between the
 * memory that connections keep, the larger ones leave holes in the heap, measured as 10 kB more for each idle connection.
 */
const INLINE_OPTIONS = Object.freeze({ ...DEFLATE_OPTIONS, windowBits: 12, memLevel: 5 })

/** Deflates what the server sends. */
export class DeflateOutput {
  #send
  #onProgress
  /** @type {Buffer[]} */
  #pieces = []
  #pendingBytes = 0
  #isWorking = false
  /** @type {Buffer} */
  #dictionary = Buffer.alloc(0)

  /**
   * @param {object} options
   * @param {(bytes: Buffer) => void} options.send - takes what goes on the wire
   * @param {(error: Error | null) => void} options.onProgress - called when fewer bytes are pending than before
   */
  constructor({ send, onProgress }) {
    this.#send = send
    this.#onProgress = onProgress
  }

  /** @returns {number} bytes that are not deflated yet */
  get pendingBytes() {
    return this.#pendingBytes
  }

  /** @param {Buffer} bytes - a batch of replies, which goes out at once */
  write(bytes) {
    this.#pendingBytes += bytes.length
    if (!this.#isWorking && bytes.length <= INLINE_BYTES) {
      this.#finish(bytes, deflateRawSync(bytes, this.#withDictionary(INLINE_OPTIONS)))
      return
    }
    this.#pieces.push(bytes)
    if (!this.#isWorking) this.#work()
  }

  #work() {
    const batch = this.#takeBatch()
    this.#isWorking = true
    deflateRaw(batch, this.#withDictionary(DEFLATE_OPTIONS), (error, deflated) => {
      this.#isWorking = false
      if (error === null) {
        this.#finish(batch, deflated)
        if (this.#pieces.length > 0) this.#work()
      }
      this.#onProgress(error)
    })
  }

  /** @returns {Buffer} what is deflated next */
  #takeBatch() {
    const pieces = []
    let room = BATCH_BYTES
    while (room > 0) {
      const piece = this.#pieces[0]
      if (piece === undefined) break
      pieces.push(piece.subarray(0, room))
      if (piece.length > room) this.#pieces[0] = piece.subarray(room)
      else this.#pieces.shift()
      room -= piece.length
    }
    return pieces.length === 1 ? /** @type {Buffer} */ (pieces[0]) : Buffer.concat(pieces)
  }

  /**
   * @param {import('node:zlib').ZlibOptions} options
   * @returns {import('node:zlib').ZlibOptions} for a batch that follows what has been sent
   */
  #withDictionary(options) {
    const dictionary = this.#dictionary
    return dictionary.length === 0 ? options : { ...options, dictionary }
  }

  /**
   * @param {Buffer} batch
   * @param {Buffer} deflated
   */
  #finish(batch, deflated) {
    const kept = Math.max(0, DICTIONARY_BYTES - batch.length)
    const before = kept === 0 ? [] : [this.#dictionary.subarray(-kept)]
    // Copied: a view would hold a whole batch for as long as the client is silent.
    this.#dictionary = copyOf(Buffer.concat([...before, batch.subarray(-DICTIONARY_BYTES)]))
    this.#pendingBytes -= batch.length
    this.#send(deflated)
  }
}

/** Inflates what the client sends. */
export class InflateInput {
  /** @type {InflateRaw | null} */
  #stream = null
  #onReadable
  #isWorking = false
  #isEnding = false
  #hasEnded = false
  #history = new InflateHistory()
  /**
   * The last four bytes that were pushed.
   *
   * @type {Buffer}
   */
  #tail = Buffer.alloc(0)

  /** @param {() => void} onReadable - called when `read` may give something, or the input has ended */
  constructor(onReadable) {
    this.#onReadable = onReadable
  }

  /** @returns {boolean} whether nothing more will come */
  get hasEnded() {
    return this.#hasEnded
  }

  /** @returns {boolean} whether `push` is what it waits for */
  get wantsMore() {
    return !this.#isWorking && !this.#isEnding && !this.#hasEnded
  }

  /** @returns {boolean} for tests: whether it holds no inflater */
  get isResting() {
    return this.#stream === null
  }

  /** @returns {Buffer | null} */
  read() {
    const bytes = /** @type {Buffer | null} */ (this.#stream?.read() ?? null)
    if (bytes !== null) this.#history.add(bytes)
    return bytes
  }

  /** @param {Buffer} bytes - as they came; only when it `wantsMore` */
  push(bytes) {
    this.#tail = copyOf(Buffer.concat([this.#tail, bytes.subarray(-4)]).subarray(-4))
    this.#isWorking = true
    this.#stream ??= this.#open()
    this.#stream.write(bytes, () => {
      this.#isWorking = false
      this.#onReadable()
    })
  }

  /** Nothing more will be pushed; bytes that are inflated can still be read. */
  end() {
    if (this.#isEnding) return
    this.#isEnding = true
    if (this.#stream !== null) this.#stream.end()
    else this.#end()
  }

  /** Gives the memory back at once. */
  destroy() {
    this.#hasEnded = true
    this.#stream?.destroy()
    this.#history = new InflateHistory()
  }

  /**
   * Lets the inflater go, and keeps what the next one must know. To be called when all that was pushed has been read
   * and ended with a line: then the bytes of a sync flush at the end are one, and not content of a stored block, which
   * would have been read as such. Without them (a client that ends its batches in another way) nothing happens.
   */
  rest() {
    if (this.#stream === null || !this.wantsMore || !this.#tail.equals(SYNC_FLUSH)) return
    if (this.#stream.readableLength > 0) return
    this.#history.shrink()
    this.#stream.removeAllListeners()
    this.#stream.destroy()
    this.#stream = null
  }

  /** @returns {InflateRaw} that goes on where the one before has stopped */
  #open() {
    const dictionary = this.#history.window
    // The types leave out what zlib hands to its Transform.
    const options = {
      readableHighWaterMark: READ_AHEAD_BYTES,
      // A client that hangs up need not have ended its stream.
      finishFlush: constants.Z_SYNC_FLUSH,
      ...(dictionary.length > 0 && { dictionary })
    }
    const stream = createInflateRaw(options)
    stream.on('readable', this.#onReadable)
    stream.on('end', () => this.#end())
    // Bytes that are no deflate stream mean nothing, and neither does what follows them.
    stream.on('error', () => this.#end())
    return stream
  }

  #end() {
    this.#hasEnded = true
    this.#onReadable()
  }
}

/**
 * @param {Buffer} bytes
 * @returns {Buffer} the same in memory of its own, not of a pool
 */
function copyOf(bytes) {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
