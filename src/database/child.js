/**
 * Statements that nothing may have to wait for run in a child process: a thread cannot be ended inside a statement, a
 * child can, and what it had begun is gone with it (the `-wal` keeps nothing that was not committed).
 *
 * The child runs modules that are made for a thread (see thread.js). It is started by a thread, and stays for a while
 * for the next job, because starting a process copies the page tables of this one: with 350 MB in use that is 14 ms on
 * the event loop, and some 7 ms of it even from a thread (measured).
 *
 *     event loop ─► child-starter.js, a thread ─► child-host.js, a process ─► the module, a thread of that
 */
import { Worker } from 'node:worker_threads'
import { MailError } from '../errors.js'
import { fromThreadFailure } from './thread.js'

/**
 * @typedef {object} ChildJob
 * @property {string} module - posts ThreadMessages; its `workerData` is `data` with the key as `key`
 * @property {object} data
 * @property {SharedArrayBuffer} key
 * @property {string} writtenFile - '' for none
 *
 * @typedef {import('./thread.js').ThreadMessage | { kind: 'started', pid: number } | { kind: 'ended', how: string }} ChildMessage
 *
 * @typedef {object} ChildOptions
 * @property {object} data - plain values, nothing secret: they travel beside the key
 * @property {SharedArrayBuffer} key - 32 bytes, the caller's
 * @property {string} [writtenFile] - a file that the job writes much to, such as a `-wal`: synced while the job writes, so
 *   that no other file's sync has to wait for all of it
 * @property {AbortSignal} [signal] - kills the child at once
 * @property {(pid: number) => void} [onStart]
 */

const STARTER = new URL('child-starter.js', import.meta.url)

/** A child waits at most so many ms for its next job. */
const IDLE_MS = 30_000

/** Children for the stores of a process. */
export class ChildPool {
  /** @type {Child[]} */
  #idle = []
  #isClosed = false

  /**
   * @param {URL} module - posts ThreadMessages; its `workerData` is `data` with the key as `key`
   * @param {ChildOptions} options
   * @returns {Promise<unknown>} the value of its `done` message
   * @throws {MailError} what the job failed with; SHUTTING_DOWN where `signal` killed the child, BUSY where somebody else did
   */
  async run(module, options) {
    if (options.signal?.aborted || this.#isClosed) throw new MailError('SHUTTING_DOWN')
    let child = this.#idle.pop()
    while (child?.hasEnded) child = this.#idle.pop()
    child ??= new Child()
    try {
      return await child.run(module, options)
    } finally {
      if (child.hasEnded || this.#isClosed) child.end()
      else this.#keep(child)
    }
  }

  /** Ends the children that wait; those at work are ended by their signals. */
  close() {
    this.#isClosed = true
    for (const child of this.#idle.splice(0)) child.end()
  }

  /** @param {Child} child */
  #keep(child) {
    this.#idle.push(child)
    setTimeout(() => {
      const index = this.#idle.indexOf(child)
      if (index === -1 || child.idleMs < IDLE_MS) return
      this.#idle.splice(index, 1)
      child.end()
    }, IDLE_MS + 1).unref()
  }
}

/** One process, one job at a time. */
class Child {
  hasEnded = false
  #worker = new Worker(STARTER)
  /** @type {number | null} */
  #pid = null
  /** @type {((message: ChildMessage) => void) | null} */
  #onMessage = null
  #idleSinceMs = 0

  constructor() {
    this.#worker.on('message', (/** @type {ChildMessage} */ message) => {
      if (message.kind === 'started') this.#pid = message.pid
      if (message.kind === 'ended') this.hasEnded = true
      this.#onMessage?.(message)
    })
    this.#worker.on('error', (error) => {
      this.hasEnded = true
      this.#onMessage?.({ kind: 'ended', how: error.message })
    })
  }

  /** @returns {number} milliseconds since the last job */
  get idleMs() {
    return performance.now() - this.#idleSinceMs
  }

  /**
   * @param {URL} module
   * @param {ChildOptions} options
   * @returns {Promise<unknown>}
   */
  run(module, { data, key, writtenFile = '', signal, onStart }) {
    const worker = this.#worker
    worker.ref()
    return new Promise((resolve, reject) => {
      const begin = () => {
        if (this.#pid === null) return
        if (signal?.aborted) this.#kill()
        else onStart?.(this.#pid)
      }
      const kill = () => this.#kill()
      signal?.addEventListener('abort', kill, { once: true })
      const finish = (/** @type {() => void} */ settle) => {
        signal?.removeEventListener('abort', kill)
        this.#onMessage = null
        this.#idleSinceMs = performance.now()
        // Referenced only while it works: an idle child keeps no process alive.
        worker.unref()
        settle()
      }
      this.#onMessage = (message) => {
        if (message.kind === 'started') begin()
        else if (message.kind === 'done') finish(() => resolve(message.value))
        else if (message.kind === 'failed') finish(() => reject(fromThreadFailure(message.failure)))
        else if (message.kind === 'ended') {
          const detail = `a child ended: ${message.how}`
          const code = signal?.aborted ? 'SHUTTING_DOWN' : 'BUSY'
          finish(() => reject(new MailError(code, { detail })))
        }
      }
      begin()
      /** @type {ChildJob} */
      const job = { module: module.href, data, key, writtenFile }
      worker.postMessage(job)
    })
  }

  /** Tells the child that no more jobs will come: then it ends by itself. */
  end() {
    this.hasEnded = true
    this.#worker.postMessage(null)
    this.#worker.unref()
  }

  #kill() {
    if (this.#pid === null || this.hasEnded) return
    // Set before the kill: the result of its job may have come already, and the next job would get a process that dies.
    this.hasEnded = true
    try {
      process.kill(this.#pid, 'SIGKILL')
    } catch (error) {
      // ESRCH: the child has ended by itself.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
    }
  }
}
