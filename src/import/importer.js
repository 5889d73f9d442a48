/**
 * Takes messages from a source into an account.
 *
 * Invariants: a message is known by a key of its mailbox, its place in the source and its bytes, stored in the transaction
 * that stores the message, so neither a second run nor one after a kill imports anything twice. A message that cannot
 * be read or is too big is reported and left out; trouble with the whole account (full, damaged, locked) ends the run.
 */
import { createHash } from 'node:crypto'
import { isMailError, MailError } from '../errors.js'
import { requireMailboxName } from '../store/mailbox-name.js'
import { ensureMailbox } from './ensure-mailbox.js'
import { parseFromLineDate } from './from-line.js'
import { withCrlf, withoutFromLine } from './line-ends.js'
import { chooseInternalDate } from './message-date.js'

/** @typedef {import('../store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../store/append.js').AppendedMessage} AppendedMessage */
/** @typedef {import('../support/clock.js').Clock} Clock */
/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */
/** @typedef {import('./import-item.js').ZonedDate} ZonedDate */

/** A transaction has at most so many messages: one durable write for all of them. */
const BATCH_MESSAGES = 100

/** A transaction takes no further message after so many bytes, so that a few large messages do not make it long. */
const BATCH_BYTES = 8 * 1024 * 1024

/** A message of at most so many bytes is held in memory, and staged only if the mailbox does not have it. */
const HELD_BYTES = 1024 * 1024

/**
 * @typedef {object} ImportSummary
 * @property {number} imported
 * @property {number} skipped - there from an earlier run
 * @property {number} failed
 */

/**
 * @typedef {object} ImportFailure
 * @property {string} name - the message's place, or the source's
 * @property {unknown} error
 */

/**
 * @typedef {object} ImporterOptions
 * @property {AccountStore} store
 * @property {string} mailbox - made when it is missing
 * @property {Clock} clock
 * @property {boolean} [keepLineEnds] - store line ends as they are instead of CRLF
 * @property {boolean} [isAsIs] - store the exact bytes: line ends and a leading mbox line as they are
 * @property {(failure: ImportFailure) => void} [onFailure]
 * @property {(source: ImportSource) => void} [onProgress] - after each message
 * @property {AbortSignal} [signal] - ends the run after the message in hand; what was read by then is stored
 */

/** @typedef {AppendedMessage & { importKey: Buffer }} ImportMessage */
/** @typedef {{ name: string, message: ImportMessage }} PendingMessage */

/** A message whose source cannot be read: that message's trouble, not the account's. */
class UnreadableMessage extends Error {}

/** One run, over one source or several after another. */
export class Importer {
  /** @type {ImportSummary} */
  summary = { imported: 0, skipped: 0, failed: 0 }
  #options
  /** @type {PendingMessage[]} */
  #pending = []
  #pendingBytes = 0
  #pendingMailbox = ''
  /** @type {Set<string>} */
  #presentMailboxes = new Set()
  #equals = new EqualMessages()

  /** @param {ImporterOptions} options */
  constructor(options) {
    this.#options = options
  }

  /**
   * @param {ImportSource} source
   * @throws {MailError} what ends the run; the summary says how far it came
   */
  async run(source) {
    const { signal, onProgress } = this.#options
    const items = source.items()
    this.#equals = new EqualMessages()
    try {
      while (!signal?.aborted) {
        const item = await this.#nextItem(source, items)
        if (!item) break
        await this.#take(item)
        onProgress?.(source)
      }
      await this.#flush()
    } finally {
      // Contents that are staged and not stored are left to the store, as garbage.
      this.#pending = []
      await items.return(undefined)
    }
  }

  /**
   * @param {ImportSource} source
   * @param {AsyncGenerator<ImportItem>} items
   * @returns {Promise<ImportItem | null>} null at the end, which a failing source comes to as well
   */
  async #nextItem(source, items) {
    try {
      const { done, value } = await items.next()
      return done ? null : value
    } catch (error) {
      this.#fail(source.name, error)
      return null
    }
  }

  /** @param {ImportItem} item */
  async #take(item) {
    try {
      // The name as the store has it.
      const mailbox = requireMailboxName([this.#options.mailbox, ...item.folder].join('/'))
      if (mailbox !== this.#pendingMailbox) await this.#flush()
      this.#pendingMailbox = mailbox
      await this.#ensureMailbox(mailbox)
      await this.#takeMessage(item)
    } catch (error) {
      if (!isAboutMessage(error)) throw error
      this.#fail(item.name, error)
    }
    if (this.#pending.length >= BATCH_MESSAGES || this.#pendingBytes >= BATCH_BYTES) {
      await this.#flush()
    }
  }

  /** @param {string} name */
  async #ensureMailbox(name) {
    if (this.#presentMailboxes.has(name)) return
    await ensureMailbox(this.#options.store, name)
    this.#presentMailboxes.add(name)
  }

  /** @param {ImportItem} item */
  async #takeMessage(item) {
    const { bytes, fromLineDate } = this.#open(item)
    const reader = readable(bytes)
    try {
      await this.#stage(item, reader, fromLineDate)
    } finally {
      await reader.return(undefined)
    }
  }

  /**
   * Reads one message to its end and stages its content, unless it is known.
   *
   * @param {ImportItem} item
   * @param {AsyncGenerator<Buffer>} reader
   * @param {() => ZonedDate | null} fromLineDate
   */
  async #stage(item, reader, fromLineDate) {
    const { store } = this.#options
    const hash = createHash('sha256')
    const { head, isWhole } = await hold(reader)
    if (head.length === 0) throw new MailError('MESSAGE_EMPTY')
    hash.update(head)
    const digestKey = () => {
      const digest = hash.digest()
      const mailbox = this.#pendingMailbox
      const place = item.importKeyParts ?? [`#${this.#equals.countUp(mailbox, digest)}`]
      return importKeyOf(mailbox, place, digest)
    }
    // A large message is read to its end before its key is known, so it must be staged meanwhile.
    const earlyKey = isWhole ? digestKey() : null
    if (earlyKey && (await this.#isKnown(earlyKey))) return
    const writer = await store.stageContent(isWhole ? { sizeHint: head.length } : {})
    try {
      await writer.write(head)
      let size = head.length
      for await (const chunk of reader) {
        hash.update(chunk)
        size += chunk.length
        await writer.write(chunk)
      }
      const importKey = earlyKey ?? digestKey()
      if (!earlyKey && (await this.#isKnown(importKey))) {
        await writer.abort()
        return
      }
      const content = await writer.finish()
      const internalDate = this.#chooseDate(item, fromLineDate(), head)
      this.#pending.push({
        name: item.name,
        message: { content, flags: item.flags, internalDate, importKey }
      })
      this.#pendingBytes += size
    } catch (error) {
      await writer.abort()
      throw error
    }
  }

  /**
   * @param {ImportItem} item
   * @returns {{ bytes: AsyncIterable<Buffer>, fromLineDate: () => ZonedDate | null }}
   */
  #open(item) {
    const { keepLineEnds = false, isAsIs = false } = this.#options
    /** @type {ZonedDate | null} */
    let fromLineDate = null
    let bytes = item.open()
    if (item.hasFromLine && !isAsIs) {
      bytes = withoutFromLine(bytes, (line) => {
        fromLineDate = parseFromLineDate(line)
      })
    }
    if (!keepLineEnds && !isAsIs) bytes = withCrlf(bytes)
    return { bytes, fromLineDate: () => fromLineDate }
  }

  /**
   * @param {ImportItem} item
   * @param {ZonedDate | null} fromLineDate
   * @param {Buffer} head
   * @returns {ZonedDate}
   */
  #chooseDate(item, fromLineDate, head) {
    return chooseInternalDate({
      known: [item.internalDate, fromLineDate],
      head,
      fallback: item.fallbackDate,
      nowMs: this.#options.clock.nowMs()
    })
  }

  /**
   * @param {Buffer} importKey
   * @returns {Promise<boolean>} counts the message as skipped when it is there
   */
  async #isKnown(importKey) {
    const isKnown =
      this.#pending.some(({ message }) => message.importKey.equals(importKey)) ||
      (await this.#options.store.hasImportKey(importKey))
    if (isKnown) this.summary.skipped++
    return isKnown
  }

  /** Stores what is pending, in one transaction; one by one when that fails, to see which one it was. */
  async #flush() {
    const batch = this.#pending
    this.#pending = []
    this.#pendingBytes = 0
    if (batch.length === 0) return
    try {
      await this.#append(batch)
    } catch (error) {
      if (!(error instanceof MailError) || error.temporary) throw error
      for (const pending of batch) await this.#appendOne(pending)
    }
  }

  /** @param {PendingMessage[]} batch */
  async #append(batch) {
    const messages = batch.map(({ message }) => message)
    const { uids } = await this.#options.store.appendMessages(this.#pendingMailbox, messages)
    // A message without a UID was stored by a faster run beside this one.
    const known = uids.filter((uid) => uid === 0).length
    this.summary.imported += batch.length - known
    this.summary.skipped += known
  }

  /** @param {PendingMessage} pending */
  async #appendOne({ name, message }) {
    try {
      await this.#append([{ name, message }])
    } catch (error) {
      if (!isAboutMessage(error)) throw error
      this.#fail(name, error)
    }
  }

  /**
   * @param {string} name
   * @param {unknown} error
   */
  #fail(name, error) {
    this.summary.failed++
    const cause = error instanceof UnreadableMessage ? error.cause : error
    this.#options.onFailure?.({ name, error: cause })
  }
}

/**
 * @param {unknown} error
 * @returns {boolean} whether the next message may fare better
 */
function isAboutMessage(error) {
  if (error instanceof UnreadableMessage) return true
  return ['TOO_BIG', 'MESSAGE_EMPTY', 'CANNOT', 'LIMIT'].some((code) =>
    isMailError(error, /** @type {import('../errors.js').ErrorCode} */ (code))
  )
}

/** Counts how often the same bytes have come in one source, by mailbox: deleting in one must not change the count in another. */
class EqualMessages {
  /** @type {Map<string, Map<string, number>>} by mailbox */
  #counts = new Map()

  /**
   * @param {string} mailbox
   * @param {Buffer} digest - of a message
   * @returns {number} 1 for the first with it
   */
  countUp(mailbox, digest) {
    // A part of the digest tells messages apart, and there may be millions.
    const key = digest.toString('latin1', 0, 12)
    const counts = this.#counts.get(mailbox) ?? new Map()
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    this.#counts.set(mailbox, counts)
    return count
  }
}

/**
 * @param {string} mailbox
 * @param {string[]} place - the parts of the message's place in the source
 * @param {Buffer} contentHash - of the bytes that are stored
 * @returns {Buffer} 32 bytes; JSON keeps the parts apart
 */
function importKeyOf(mailbox, place, contentHash) {
  const identity = JSON.stringify([mailbox, place, contentHash.toString('hex')])
  return createHash('sha256').update(identity).digest()
}

/**
 * @param {AsyncIterable<Buffer>} bytes
 * @returns {AsyncGenerator<Buffer>} which throws UnreadableMessage for whatever the source throws
 */
async function* readable(bytes) {
  try {
    yield* bytes
  } catch (cause) {
    throw new UnreadableMessage('', { cause })
  }
}

/**
 * @param {AsyncGenerator<Buffer>} reader - left at the next byte, to be read on
 * @returns {Promise<{ head: Buffer, isWhole: boolean }>} the first bytes, all of them if there are not many
 */
async function hold(reader) {
  /** @type {Buffer[]} */
  const chunks = []
  let size = 0
  while (size <= HELD_BYTES) {
    const { done, value } = await reader.next()
    if (done) return { head: Buffer.concat(chunks), isWhole: true }
    chunks.push(value)
    size += value.length
  }
  return { head: Buffer.concat(chunks), isWhole: false }
}
