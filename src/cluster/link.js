/**
 * A connection to another worker, for as long as that one lives: questions with answers, and notices without. Its end is
 * how a worker learns at once that another has died.
 */
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { onFrames, writeFrame } from './frame.js'

/** An answer may take at most so long, ms; then the worker is as good as dead to whoever asks. */
const ANSWER_MS = 5_000

/** A worker that has left more than this unread hangs, bytes: before a live one reads, only some KiB are waiting for it. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** Asks one worker. */
export class Link {
  #socket
  #count = 0
  /** @type {Map<number, (answer: { answer: unknown } | null) => void>} */
  #waiting = new Map()
  #isClosed = false

  /**
   * @param {import('node:net').Socket} socket - connected
   * @param {() => void} onClose
   */
  constructor(socket, onClose) {
    this.#socket = socket
    socket.unref()
    onFrames(socket, ({ value }) => this.#settle(value.n, 'answer' in value ? value : null))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#isClosed = true
      for (const n of [...this.#waiting.keys()]) this.#settle(n, null)
      onClose()
    })
  }

  /**
   * @param {string} path
   * @param {() => void} onClose
   * @returns {Promise<Link>}
   * @throws {NodeJS.ErrnoException} ECONNREFUSED where nobody listens any more
   */
  static async connect(path, onClose) {
    const socket = createConnection(path)
    await once(socket, 'connect')
    return new Link(socket, onClose)
  }

  /** @returns {boolean} */
  get isClosed() {
    return this.#isClosed
  }

  /**
   * @param {{ op: string, [name: string]: unknown }} question
   * @param {{ timeoutMs?: number }} [options]
   * @returns {Promise<{ answer: unknown } | null>} null where the worker is gone, silent, or failed to answer
   */
  async ask(question, { timeoutMs = ANSWER_MS } = {}) {
    if (this.#isClosed) return null
    const n = ++this.#count
    return await new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(n, null), timeoutMs)
      this.#waiting.set(n, (answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
      this.#say({ ...question, n })
    })
  }

  /** @param {{ op: string, [name: string]: unknown }} notice */
  tell(notice) {
    this.#say(notice)
  }

  /** @param {object} value */
  #say(value) {
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy()
    else writeFrame(this.#socket, value)
  }

  /** Ends it. */
  close() {
    this.#socket.destroy()
  }

  /**
   * @param {number} n
   * @param {{ answer: unknown } | null} answer
   */
  #settle(n, answer) {
    const waiting = this.#waiting.get(n)
    this.#waiting.delete(n)
    waiting?.(answer)
  }
}

/**
 * The other end of a link.
 *
 * @param {import('node:net').Socket} socket
 * @param {import('./frame.js').Frame} first - that has been read from it
 * @param {(question: any) => Promise<unknown>} answer - gives the answer; it is called for notices too, which get none
 * @param {(error: unknown, op: string) => void} onFailure
 */
export function answerLink(socket, first, answer, onFailure) {
  socket.unref()
  const onFrame = (/** @type {import('./frame.js').Frame} */ { value: question }) => {
    answer(question)
      .then((given) => {
        if (question.n !== undefined) writeFrame(socket, { n: question.n, answer: given ?? null })
      })
      .catch((error) => {
        onFailure(error, question.op)
        if (question.n !== undefined) writeFrame(socket, { n: question.n })
      })
  }
  onFrame(first)
  onFrames(socket, onFrame)
}
