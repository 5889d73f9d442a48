/**
 * From the spool into INBOX, once the owner has unlocked the mailbox.
 *
 *     open, check every chunk ─► stage ─► one transaction: the messages and their spool names in `drained`
 *       ─► durable ─► unlink ─► fsync the folder ─► forget the names
 *
 * A crash anywhere loses nothing and delivers nothing twice: until the unlink the file is there; from the
 * transaction until after the unlink is durable the store knows its name. A file that does not open, that the
 * disk does not give back, or whose message this program fails at, goes to aside/ and is reported: the owner's
 * login waits for this, and no message may keep the owner out. A temporary error ends the run, as does an INBOX
 * that takes no more messages, and the rest stays for the next.
 */

import { dirname, join } from 'node:path'
import { isFrozen } from '../database/freeze-file.js'
import { MailError } from '../errors.js'
import { Opener } from '../crypto/age.js'
import { SpoolPlaintextReader } from './spool-format.js'
import { codeOf, isGone } from './spool-files.js'
import {
  listSpool,
  measureSpool,
  readSpoolFile,
  removeSpoolFiles,
  setAsideSpoolFile
} from './spool.js'

/** @typedef {import('../errors.js').ErrorCode} ErrorCode */
/** @typedef {import('../crypto/age.js').SealIdentity} SealIdentity */
/** @typedef {import('./spool.js').SpoolFile} SpoolFile */

/**
 * At most so many messages and bytes go into one transaction: enough to share its sync, few enough that the first
 * message is seen soon and that little has to be done again after a crash.
 */
const BATCH_MESSAGES = 16
const BATCH_BYTES = 4 * 1024 * 1024

/** Errors that are about one message, not about the store: its file is set aside, the others go on. */
const MESSAGE_CODES = new Set(
  /** @type {ErrorCode[]} */ (['UNSEAL_FAILED', 'TOO_BIG', 'MESSAGE_FAULT'])
)

/**
 * What draining needs of an account's store; `AccountStore` has it.
 *
 * @typedef {object} DrainStore
 * @property {(options: { sizeHint: number, isSizeExempt: true, isAlone: boolean }) =>
 *   Promise<DrainContentWriter>} stageContent
 * @property {(mailbox: string, messages: any[], options: { isQuotaExempt: true }) => Promise<{ uids: number[] }>} appendMessages -
 *   durable, the spool names with it; a UID of 0 where the name is known already
 * @property {() => Promise<string[]>} listDrained - spool names whose messages are in INBOX, durably, and that are not forgotten
 * @property {(spoolNames: readonly string[]) => Promise<void>} forgetDrained
 */

/**
 * @typedef {object} DrainContentWriter
 * @property {(chunk: Buffer) => Promise<void>} write - keeps nothing of the chunk
 * @property {() => Promise<object>} finish
 * @property {() => Promise<void>} abort - no harm after the content has become part of a message
 */

/**
 * @typedef {object} StagedMessage
 * @property {string} name - of its file
 * @property {number} bytes
 * @property {DrainContentWriter} writer
 * @property {object} message - for `appendMessages`
 */

/**
 * @typedef {object} DrainResult
 * @property {number} delivered - messages that are in INBOX now, durably
 * @property {number} setAside - files that did not open, or whose message the store could not take
 * @property {number} remaining - files that are still in the spool
 * @property {ErrorCode | null} stoppedBy - the error that ended the run, a temporary one or LIMIT: INBOX takes no more messages; null
 *   where none did
 */

/**
 * @typedef {object} DrainOptions
 * @property {string} spoolFolder - absolute
 * @property {readonly SealIdentity[]} identities - the current one and older ones; not destroyed here
 * @property {DrainStore} store - open and writable
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {(file: { name: string, code: ErrorCode }) => void} [onSetAside]
 * @property {number} [limit] - files to look at, the oldest first; all by default
 * @property {number} [limitBytes] - of these files together
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
 * @throws {MailError} for other errors of the store, such as ACCOUNT_DAMAGED; every file that is not in INBOX is still in the
 *   spool then
 */
export async function drainSpool(options) {
  const { store } = options
  const previous = running.get(store) ?? Promise.resolve()
  // The run before has told its own caller what went wrong.
  const run = previous.catch(() => undefined).then(() => new DrainRun(options).run())
  running.set(store, run)
  return run
}

/** One pass over a spool. */
class DrainRun {
  #options
  #delivered = 0
  #setAside = 0
  /** Whether this run brings in one message alone. */
  #isAlone = false
  /** @type {StagedMessage[]} not yet on the way to INBOX */
  #batch = []
  /** @type {Promise<void>} the batch before, which goes to the disk while the next one is opened */
  #committing = Promise.resolve()

  /** @param {DrainOptions} options */
  constructor(options) {
    this.#options = options
  }

  /** @returns {Promise<DrainResult>} */
  async run() {
    const { spoolFolder, limit = Infinity, limitBytes = Infinity, logger } = this.#options
    /** @type {ErrorCode | null} */
    let stoppedBy = null
    try {
      await this.#finishEarlierRun()
      const files = await listSpool(spoolFolder)
      let bytes = 0
      this.#isAlone = files.length === 1
      for (const file of files.slice(0, limit)) {
        bytes += file.bytes
        if (bytes > limitBytes) break
        await this.#take(file)
      }
      await this.#commit()
      await this.#committing
    } catch (error) {
      if (!(error instanceof MailError) || !(error.temporary || error.code === 'LIMIT')) throw error
      stoppedBy = error.code
      const text = 'the spool was not drained to its end'
      // A mailbox that is closed does not wait for a lock: nothing went wrong, and the next login goes on.
      if (stoppedBy === 'SHUTTING_DOWN') logger.info({ stoppedBy }, text)
      else logger.warn({ err: error }, text)
    } finally {
      await this.#committing.catch(() => {})
      for (const { writer } of this.#batch) await writer.abort()
    }
    const { messages: remaining } = await measureSpool(spoolFolder)
    return { delivered: this.#delivered, setAside: this.#setAside, remaining, stoppedBy }
  }

  /** Removes the files, and forgets the names, that a crash left between the transaction and the forgetting. */
  async #finishEarlierRun() {
    const { store } = this.#options
    await this.#release(await store.listDrained())
  }

  /** @param {SpoolFile} file */
  async #take(file) {
    try {
      await this.#stage(file)
    } catch (error) {
      // Another process has brought the file in since the spool was listed.
      if (error instanceof MailError && codeOf(error.cause) === 'ENOENT') return
      if (!(error instanceof MailError) || !MESSAGE_CODES.has(error.code)) throw error
      await this.#putAside(file.name, error)
      return
    }
    const bytes = this.#batch.reduce((sum, staged) => sum + staged.bytes, 0)
    if (this.#batch.length >= BATCH_MESSAGES || bytes >= BATCH_BYTES) await this.#commit()
  }

  /** @param {SpoolFile} file */
  async #stage({ name, bytes }) {
    // Exempt: the message was accepted under the limit of its day, which may have been lowered since.
    const writer = await this.#options.store.stageContent({
      sizeHint: bytes,
      isSizeExempt: true,
      isAlone: this.#isAlone
    })
    try {
      const { receivedAtMs } = await this.#open({ name, bytes }, writer)
      const content = await writer.finish()
      // RFC 9051 §2.3.3: for delivered mail, the time of final delivery, which was the 250.
      const internalDate = { epochSeconds: Math.floor(receivedAtMs / 1000), zoneMinutes: 0 }
      // A second process may drain the same spool. Within the transaction nobody else commits: either the name is known,
      // or nobody has brought the message in, or its file is gone. Where that cannot be told, the run ends.
      const isSpoolFileGone = () => isGone(join(this.#options.spoolFolder, name))
      const message = { content, flags: [], internalDate, spoolName: name, isSpoolFileGone }
      this.#batch.push({ name, bytes, writer, message })
    } catch (error) {
      await writer.abort()
      throw asMessageError(error)
    }
  }

  /**
   * Streams the message into the writer. Nothing of it is in INBOX before the whole file has proved itself.
   *
   * @param {Pick<SpoolFile, 'name' | 'bytes'>} file
   * @param {DrainContentWriter} writer
   * @returns {Promise<import('./spool-format.js').SpoolEnvelope>}
   */
  async #open(file, writer) {
    const { spoolFolder, identities } = this.#options
    const opener = new Opener(identities)
    const reader = new SpoolPlaintextReader()
    /** @param {Buffer[]} pieces - authenticated */
    const take = async (pieces) => {
      for (const plaintext of pieces) {
        for (const piece of reader.push(plaintext)) await writer.write(piece)
      }
    }
    try {
      for await (const sealed of readSpoolFile(spoolFolder, file)) await take(opener.push(sealed))
      await take(opener.end())
      return reader.end()
    } finally {
      opener.destroy()
    }
  }

  /** @returns {Promise<void>} when the batch before is in, and this one on its way: no more than two are in memory */
  async #commit() {
    await this.#committing
    const batch = this.#batch
    this.#batch = []
    this.#committing = this.#bringIn(batch)
    // Whoever awaits the batch next is told of its failure.
    this.#committing.catch(() => {})
  }

  /** @param {readonly StagedMessage[]} batch */
  async #bringIn(batch) {
    if (batch.length === 0) return
    try {
      await this.#appendAll(batch)
    } catch (error) {
      for (const { writer } of batch) await writer.abort()
      throw error
    }
    await this.#release(batch.map((staged) => staged.name))
  }

  /** @param {readonly StagedMessage[]} batch */
  async #appendAll(batch) {
    try {
      await this.#append(batch)
    } catch (error) {
      if (error instanceof MailError) throw error
      const { logger } = this.#options
      logger.error(
        { err: error },
        'the program fails at a batch of mail; it is taken in one by one'
      )
      for (const staged of batch) await this.#appendAlone(staged)
    }
  }

  /** @param {readonly StagedMessage[]} batch */
  async #append(batch) {
    const messages = batch.map((staged) => staged.message)
    const options = /** @type {const} */ ({ isQuotaExempt: true })
    const { uids } = await this.#options.store.appendMessages('INBOX', messages, options)
    this.#delivered += uids.filter((uid) => uid !== 0).length
  }

  /**
   * The program has failed at one message of a batch, nobody knows which.
   *
   * @param {StagedMessage} staged
   */
  async #appendAlone(staged) {
    const { store, logger } = this.#options
    try {
      await this.#append([staged])
    } catch (error) {
      if (error instanceof MailError) throw error
      if ((await store.listDrained()).includes(staged.name)) {
        // Not set aside: the message is in INBOX, and its file could be brought in a second time.
        logger.error({ file: staged.name, err: error }, 'the program failed behind a delivery')
        this.#delivered += 1
        return
      }
      await staged.writer.abort()
      await this.#putAside(staged.name, asMessageError(error))
    }
  }

  /**
   * The name of a file may be forgotten only when neither a power cut nor a backup can bring the file back: a backup that
   * has copied it, and not yet `mail.db`, would deliver it a second time when it is restored.
   *
   * @param {string[]} names
   */
  async #release(names) {
    if (names.length === 0) return
    const { spoolFolder, store } = this.#options
    await removeSpoolFiles(spoolFolder, names)
    // Asked after the removal: a backup that begins later does not find the files. The next run forgets the names.
    if (isFrozen(dirname(spoolFolder))) return
    await store.forgetDrained(names)
  }

  /**
   * @param {string} name
   * @param {MailError} error
   */
  async #putAside(name, error) {
    const { spoolFolder, logger, onSetAside } = this.#options
    await setAsideSpoolFile(spoolFolder, name)
    this.#setAside += 1
    logger.error({ file: name, err: error }, 'a sealed message was set aside')
    onSetAside?.({ name, code: error.code })
  }
}

/**
 * @param {unknown} error - met at one message
 * @returns {MailError} MESSAGE_FAULT for a fault of this program
 */
function asMessageError(error) {
  return error instanceof MailError ? error : new MailError('MESSAGE_FAULT', { cause: error })
}
