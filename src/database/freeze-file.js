/**
 * The file `mail.freeze` in an account's folder says that a backup is reading the mailbox: until its deadline nobody
 * should move the `-wal` into `mail.db`, and the names of drained spool files are not to be forgotten.
 *
 * It is a request, not a lock. The copy's soundness rests on the held read mark (freeze.js) and on `mail.db` being
 * unchanged at the end; whoever overlooks the file costs the backup another try.
 */
import { lstatSync, readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { systemClock } from '../support/clock.js'
import { errorCodeOf, toMailError } from './sqlite-error.js'

/**
 * @typedef {object} FreezeRequest
 * @property {string} token - of the backup that asks
 * @property {number} deadlineMs - wall clock; later the file means nothing
 */

/** No backup asks for more ms at once. A file that cannot be read counts for so long after it was written. */
const LONGEST_HOLD_MS = 5 * 60_000

/**
 * @param {string} folder - of an account
 * @returns {string}
 */
export const freezeFile = (folder) => join(folder, 'mail.freeze')

/**
 * @param {string} folder - of an account
 * @param {FreezeRequest} request
 * @returns {Promise<void>} when every opener can see it
 */
export async function writeFreezeFile(folder, request) {
  const path = freezeFile(folder)
  // Not synced: no backup survives a power cut.
  await writeFile(`${path}.tmp`, `${JSON.stringify(request)}\n`, { mode: 0o600 })
  await rename(`${path}.tmp`, path)
}

/**
 * @param {string} folder - of an account
 * @returns {FreezeRequest | null} null where there is no such file, or only one that is incomplete
 * @throws {MailError} OVERLOADED, and NOT_DURABLE where the disk fails
 */
export function readFreezeFile(folder) {
  try {
    const { token, deadlineMs } = JSON.parse(readFileSync(freezeFile(folder), 'utf8'))
    return typeof token === 'string' && typeof deadlineMs === 'number'
      ? { token, deadlineMs }
      : null
  } catch (error) {
    if (error instanceof SyntaxError || errorCodeOf(error) === 'ENOENT') return null
    const known = toMailError(error)
    // One that is refused is another user's: to fail because of it would stop the drain.
    if (known instanceof MailError && known.code !== 'FILE_REFUSED') throw known
    return unreadableRequest(freezeFile(folder))
  }
}

/**
 * The request in a file that this process may not read, because another user runs the backup: it counts from when it was
 * written, and is renewed as any other.
 *
 * @param {string} path
 * @returns {FreezeRequest | null} null where the file is gone by now
 */
function unreadableRequest(path) {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat ? { token: '', deadlineMs: stat.mtimeMs + LONGEST_HOLD_MS } : null
}

/**
 * @param {string} folder - of an account
 * @param {import('../support/clock.js').Clock} [clock]
 * @returns {boolean} whether a backup is reading the mailbox
 */
export function isFrozen(folder, clock = systemClock) {
  const request = readFreezeFile(folder)
  if (request === null) return false
  const leftMs = request.deadlineMs - clock.nowMs()
  // A deadline later than any backup asks for: the clock was set back since. A backup that goes on writes the file anew.
  return leftMs > 0 && leftMs <= LONGEST_HOLD_MS
}

/**
 * @param {string} folder - of an account
 * @param {string} token - of the one that wrote it: another backup's file stays
 */
export async function removeFreezeFile(folder, token) {
  if (readFreezeFile(folder)?.token === token) await rm(freezeFile(folder), { force: true })
}

/** The `mail.freeze` of one backup, renewed until it is removed. */
export class FreezeNotice {
  #folder
  #token
  #holdMs
  #clock
  #timer
  /** @type {Promise<void>} */
  #written
  /**
   * The error of a failed renewal: from the deadline on the file means nothing.
   *
   * @type {unknown}
   */
  failure = null

  /**
   * @param {object} options
   * @param {string} options.folder - of an account
   * @param {string} options.token - of the backup
   * @param {number} options.holdMs - how long the file is to mean something without a renewal
   * @param {number} options.renewMs - the time between two
   * @param {import('../support/clock.js').Clock} options.clock
   * @returns {Promise<FreezeNotice>} when every opener can see the file
   */
  static async place(options) {
    const notice = new FreezeNotice(options)
    try {
      await notice.#written
    } catch (error) {
      clearInterval(notice.#timer)
      throw error
    }
    return notice
  }

  /**
   * Use `FreezeNotice.place`.
   *
   * @param {Parameters<typeof FreezeNotice.place>[0]} options
   */
  constructor({ folder, token, holdMs, renewMs, clock }) {
    this.#folder = folder
    this.#token = token
    this.#holdMs = holdMs
    this.#clock = clock
    this.#written = this.#write()
    this.#timer = setInterval(() => this.#renew(), renewMs)
  }

  /** Removes the file. */
  async remove() {
    clearInterval(this.#timer)
    // A renewal that is under way would bring the file back.
    await this.#written
    await removeFreezeFile(this.#folder, this.#token)
  }

  #renew() {
    this.#written = this.#written
      .then(() => this.#write())
      .catch((error) => {
        this.failure ??= error
      })
  }

  #write() {
    const deadlineMs = this.#clock.nowMs() + this.#holdMs
    return writeFreezeFile(this.#folder, { token: this.#token, deadlineMs })
  }
}
