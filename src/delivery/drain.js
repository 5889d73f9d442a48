/**
 * From the spool into INBOX, once the owner has unlocked the mailbox.
 *
 *     open, check every chunk ─► stage ─► one transaction: the messages and their spool names in `drained`
 *       ─► durable ─► unlink ─► fsync the folder ─► forget the names
 *
 * A crash anywhere loses nothing and delivers nothing twice: until the unlink the file is there; from the
 * transaction until after the unlink is durable the store knows its name. A file that does not open goes to
 * aside/ and is reported. A temporary error ends the run, and the rest stays for the next.
 */

import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { Opener } from '../crypto/age.js'
import { SpoolPlaintextReader } from './spool-format.js'
import { listSpool, removeSpoolFiles, setAsideSpoolFile } from './spool.js'

/** @typedef {import('../errors.js').ErrorCode} ErrorCode */
/** @typedef {import('../crypto/age.js').SealIdentity} SealIdentity */
/** @typedef {import('./spool.js').SpoolFile} SpoolFile */

/** Read at a time, in bytes: one sealed chunk. */
const READ_BYTES = 64 * 1024
/**
 * Messages and bytes that go into one transaction: enough to share its sync, few enough that the first
 * message is seen soon and that little has to be done again after a crash.
 */
const BATCH_MESSAGES = 16
const BATCH_BYTES = 4 * 1024 * 1024

/** Codes that speak of one message, not of the store: that file is set aside, the others go on. */
const MESSAGE_CODES = new Set(/** @type {ErrorCode[]} */ (['UNSEAL_FAILED', 'TOO_BIG']))

/**
 * What draining needs of an account's store; `AccountStore` has it.
 *
 * @typedef {object} DrainStore
 * @property {(options: { sizeHint: number }) => Promise<any>} stageContent
 * @property {(mailbox: string, messages: any[], options: { isQuotaExempt: true }) => Promise<unknown>} appendMessages
 * @property {(spoolName: string) => Promise<boolean>} isDrained
 * @property {(spoolName: string) => Promise<void>} forgetDrained
 */

/**
 * @typedef {object} DrainResult
 * @property {number} delivered - messages that are in INBOX now, durably
 * @property {number} setAside - files that did not open
 * @property {number} remaining - files that are still in the spool
 * @property {ErrorCode | null} stoppedBy - the temporary error that ended the run, null where none did
 */

/**
 * @typedef {object} DrainOptions
 * @property {string} spoolFolder - absolute
 * @property {readonly SealIdentity[]} identities - the current one and older ones; not destroyed here
 * @property {DrainStore} store - open and writable
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {(file: { name: string, code: ErrorCode }) => void} [onSetAside]
 * @property {number} [limit] - files to look at, the oldest first; all by default
 */

/**
 * One run at a time per store.
 *
 * @type {WeakMap<DrainStore, Promise<unknown>>}
 */
const running = new WeakMap()

/**
 * @param {DrainOptions} options
 * @returns {Promise<DrainResult>}
 * @throws {MailError} for errors of the store that are not temporary, such as ACCOUNT_DAMAGED; every file
 *   that is not in INBOX is still in the spool then
 */
export async function drainSpool(options) {
  const { store } = options
  const previous = running.get(store) ?? Promise.resolve()
  // The one before has told its own caller what went wrong.
  const run = previous.catch(() => undefined).then(() => new DrainRun(options).run())
  running.set(store, run)
  return run
}

/** One pass over a spool. */
class DrainRun {
  #options
  #delivered = 0
  #setAside = 0
  /** @type {{ name: string, message: object, bytes: number }[]} staged, not yet in INBOX */
  #batch = []

  /** @param {DrainOptions} options */
  constructor(options) {
    this.#options = options
  }

  /** @returns {Promise<DrainResult>} */
  async run() {
    const { spoolFolder, limit = Infinity, logger } = this.#options
    const files = await listSpool(spoolFolder)
    /** @type {ErrorCode | null} */
    let stoppedBy = null
    try {
      for (const file of files.slice(0, limit)) await this.#take(file)
      await this.#commit()
    } catch (error) {
      if (!(error instanceof MailError) || !error.temporary) throw error
      stoppedBy = error.code
      logger.warn(
        { event: 'drain-stopped', code: error.code },
        'the spool was not drained to its end'
      )
    }
    const remaining = (await listSpool(spoolFolder)).length
    return { delivered: this.#delivered, setAside: this.#setAside, remaining, stoppedBy }
  }

  /** @param {SpoolFile} file */
  async #take(file) {
    const { spoolFolder, store } = this.#options
    if (await store.isDrained(file.name)) {
      // A crash came between the transaction and the unlink.
      await removeSpoolFiles(spoolFolder, [file.name])
      await store.forgetDrained(file.name)
      return
    }
    try {
      await this.#stage(file)
    } catch (error) {
      if (!(error instanceof MailError) || !MESSAGE_CODES.has(error.code)) throw error
      await this.#putAside(file, error)
      return
    }
    const bytes = this.#batch.reduce((sum, staged) => sum + staged.bytes, 0)
    if (this.#batch.length >= BATCH_MESSAGES || bytes >= BATCH_BYTES) await this.#commit()
  }

  /** @param {SpoolFile} file */
  async #stage(file) {
    const { spoolFolder, store } = this.#options
    const writer = await store.stageContent({ sizeHint: file.bytes })
    try {
      const { envelope, bytes } = await this.#open(join(spoolFolder, file.name), writer)
      const content = await writer.finish()
      const internalDate = {
        epochSeconds: Math.floor(envelope.receivedAtMs / 1000),
        zoneMinutes: 0
      }
      const message = { content, flags: [], internalDate, spoolName: file.name }
      this.#batch.push({ name: file.name, message, bytes })
    } catch (error) {
      await writer.abort()
      throw error
    }
  }

  /**
   * Streams the message into the writer. Nothing of it is in INBOX before the whole file has proved itself.
   *
   * @param {string} path
   * @param {{ write: (chunk: Buffer) => Promise<void> }} writer
   */
  async #open(path, writer) {
    const opener = new Opener(this.#options.identities)
    const reader = new SpoolPlaintextReader()
    const handle = await open(path, 'r')
    let bytes = 0
    /** @param {Buffer[]} pieces - authenticated */
    const take = async (pieces) => {
      for (const plaintext of pieces) {
        for (const piece of reader.push(plaintext)) {
          bytes += piece.length
          await writer.write(piece)
        }
      }
    }
    try {
      for (;;) {
        // A new buffer each time: what it held may still be in the writer's hands.
        const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
        const { bytesRead } = await handle.read(buffer, 0, READ_BYTES)
        if (bytesRead === 0) break
        await take(opener.push(buffer.subarray(0, bytesRead)))
      }
      await take(opener.end())
      return { envelope: reader.end(), bytes }
    } finally {
      opener.destroy()
      await handle.close()
    }
  }

  async #commit() {
    const { spoolFolder, store } = this.#options
    const batch = this.#batch
    this.#batch = []
    if (batch.length === 0) return
    const messages = batch.map((staged) => staged.message)
    await store.appendMessages('INBOX', messages, { isQuotaExempt: true })
    this.#delivered += batch.length
    const names = batch.map((staged) => staged.name)
    await removeSpoolFiles(spoolFolder, names)
    for (const name of names) await store.forgetDrained(name)
  }

  /**
   * @param {SpoolFile} file
   * @param {MailError} error
   */
  async #putAside(file, error) {
    const { spoolFolder, logger, onSetAside } = this.#options
    await setAsideSpoolFile(spoolFolder, file.name)
    this.#setAside += 1
    logger.error(
      { event: 'spool-set-aside', file: file.name, err: error },
      'a sealed message was set aside'
    )
    onSetAside?.({ name: file.name, code: error.code })
  }
}
