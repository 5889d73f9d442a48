/**
 * The way out of one connection: replies are gathered until the loop turns once, so that pipelined commands share packets,
 * and go to the socket, deflated where the client wants that.
 */
import { releaseBuffer } from '../../support/release-buffer.js'
import { DeflateOutput } from './compression.js'
import { BLOCK_BYTES, ReplyBlock } from './reply-block.js'

/** @import { Socket } from 'node:net' */

/** Where more bytes wait for the deflater, the client has to wait. */
const DEFLATED_BYTES = 64 * 1024
/** Replies of more bytes are not copied into the block of small ones. */
const COPY_BYTES = 16 * 1024
/** Pieces of more bytes are written by themselves, and their memory is given back when they are sent. */
const OWNED_BYTES = 32 * 1024
/**
 * Replies that are made without a pause go to the kernel together, at most so many bytes: each call of the kernel wakes the
 * client, which took a sixth of the time for messages of 256 KB in pieces of 32 KiB.
 */
const GATHERED_BYTES = 192 * 1024
/** More unsent bytes make the next command wait: a client that does not read pins no more memory. */
const MAX_UNSENT_BYTES = 256 * 1024

/** The output of a connection. Once stopped it sends nothing more, and drops what it is given. */
export class ReplyOutput {
  #socket
  #onBytes
  #replies = new ReplyBlock()
  /** @type {DeflateOutput | null} */
  #deflate = null
  #isFlushScheduled = false
  /** Whether the socket gathers what it gets, until the next flush. */
  #isCorked = false
  /** Bytes that the socket has gathered and not sent yet. */
  #gatheredBytes = 0
  #isStopped = false

  /**
   * @param {Socket} socket
   * @param {(bytes: number) => void} onBytes - told of what is sent, before it is deflated
   */
  constructor(socket, onBytes) {
    this.#socket = socket
    this.#onBytes = onBytes
  }

  /** @returns {boolean} whether it deflates */
  get isCompressed() {
    return this.#deflate !== null
  }

  /** @returns {boolean} whether more than MAX_UNSENT_BYTES wait for the client to read */
  get hasUnsent() {
    const deflating = this.#deflate?.pendingBytes ?? 0
    return this.#replies.length + deflating + this.#socket.writableLength > MAX_UNSENT_BYTES
  }

  /** @returns {boolean} whether whoever has more is to wait until the socket, or the deflater, has taken some */
  get mustWait() {
    return this.#socket.writableNeedDrain || (this.#deflate?.pendingBytes ?? 0) > DEFLATED_BYTES
  }

  /** @returns {boolean} whether all that was handed over is with the socket */
  get isDeflated() {
    return (this.#deflate?.pendingBytes ?? 0) === 0
  }

  /**
   * Queues bytes for the client.
   *
   * @param {Buffer | string} piece - not to be changed afterwards; a string is sent as UTF-8
   */
  write(piece) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (bytes.length <= COPY_BYTES) {
      this.writeCopied(bytes)
      return
    }
    if (!this.#beginPiece(bytes)) return
    if (this.#deflate !== null) this.#deflate.write(bytes)
    else this.#send(bytes)
  }

  /**
   * As `write`, for bytes whose memory the caller uses again at once.
   *
   * @param {Buffer} bytes
   */
  writeCopied(bytes) {
    if (this.#isStopped) return
    this.#onBytes(bytes.length)
    // The client may read the beginning of a long answer while the rest is copied.
    const isLong = bytes.length > BLOCK_BYTES
    for (let at = 0; at < bytes.length;) {
      at += this.#replies.copy(bytes, at)
      if (!this.#replies.isFull) continue
      if (isLong) this.flush()
      else {
        this.#gather()
        this.#passReplies()
      }
    }
    if (this.#replies.length > 0) this.#flushSoon()
  }

  /**
   * Queues bytes that nobody else uses, and gives their memory back as soon as they are sent.
   *
   * @param {Buffer} piece - with the memory that it lies in
   */
  writeOwned(piece) {
    if (this.#deflate !== null || piece.length < OWNED_BYTES) {
      this.write(piece)
      return
    }
    if (!this.#beginPiece(piece)) return
    this.#send(piece, (error) => {
      if (error == null) releaseBuffer(piece)
    })
  }

  /** Sends everything that is queued. */
  flush() {
    this.#passReplies()
    this.#uncork()
  }

  /**
   * Deflates what follows.
   *
   * @param {(error: Error | null) => void} onProgress - called when fewer bytes wait for it than before
   */
  compress(onProgress) {
    this.#deflate = new DeflateOutput({
      send: (bytes) => {
        if (!this.#socket.destroyed) this.#socket.write(bytes)
      },
      onProgress
    })
  }

  /** Nothing more is sent; what is queued is dropped. */
  stop() {
    this.#isStopped = true
    this.#replies.clear()
  }

  /**
   * @param {Buffer} piece - a large one, which goes out by itself
   * @returns {boolean} false: it has nowhere to go
   */
  #beginPiece(piece) {
    if (this.#isStopped) return false
    // Replies before and behind the piece share its packets: a client that is woken by the first line alone reads thrice.
    this.#gather()
    this.#passReplies()
    this.#onBytes(piece.length)
    return true
  }

  /** Has the socket gather what it gets until the loop turns. */
  #gather() {
    if (this.#isCorked || this.#deflate !== null) return
    this.#isCorked = true
    this.#socket.cork()
    this.#flushSoon()
  }

  /**
   * @param {Buffer} bytes
   * @param {(error?: Error | null) => void} [onSent] - called when they are used no more
   */
  #send(bytes, onSent) {
    this.#socket.write(bytes, onSent)
    if (this.#isCorked) this.#gatheredBytes += bytes.length
    if (this.#gatheredBytes >= GATHERED_BYTES) this.#uncork()
  }

  #uncork() {
    if (!this.#isCorked) return
    this.#isCorked = false
    this.#gatheredBytes = 0
    this.#socket.uncork()
  }

  #flushSoon() {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    setImmediate(() => {
      this.#isFlushScheduled = false
      this.flush()
    })
  }

  /** Hands the replies that are gathered to the socket, or to the deflater. */
  #passReplies() {
    if (this.#replies.length === 0) return
    if (this.#deflate !== null) this.#deflate.write(this.#replies.takeCopy())
    // For a client that is slow to read, no more than one block is held.
    else if (this.#socket.writableLength > this.#gatheredBytes) this.#send(this.#replies.takeCopy())
    else this.#replies.sendTo((bytes, onSent) => this.#send(bytes, onSent))
  }
}
