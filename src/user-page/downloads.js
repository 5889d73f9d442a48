/**
 * A portable file of a mailbox, made for one download. It is encrypted like any other (src/export), lies in `<data>/tmp`
 * while it is made, and has no name any more when the first byte goes out: it is gone with the connection.
 *
 * The name of its folder says how large the file will be at most: by these names the downloads of all workers leave room to
 * each other, and to the mail.
 */
import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import PQueue from 'p-queue'
import { mailFile } from '../database/database-files.js'
import { MailError } from '../errors.js'
import { makeScratchFolder } from '../export/scratch-folder.js'
import { makePortable } from '../export/write-portable.js'
import { requireRoom } from '../support/room.js'

/** @import { AccountServices } from '../accounts/services.js' */
/** @import { OpenAccounts } from '../accounts/open-accounts.js' */
/** @import { Unlocked } from '../accounts/unlock.js' */

/** At most so many downloads at once in a process: each takes the room of its copy, and 256 MiB of memory for a second. */
const MAX_AT_ONCE = 4

/** A folder's process, and the bytes that its copy will have at most; earlier releases wrote the process alone. */
const NAME = /^\.?download-(\d+)-(?:(\d+)-)?/

/** Makes downloads, one at a time for each account. */
export class Downloads {
  #services
  #openAccounts
  #folder
  #argon2
  /** @type {Set<string>} accounts */
  #running = new Set()
  #entries = new PQueue({ concurrency: 1 })

  /**
   * @param {object} options
   * @param {AccountServices} options.services
   * @param {Pick<OpenAccounts, 'acquire'>} options.openAccounts
   * @param {import('../crypto/kdf.js').Argon2Params} [options.argon2] - default: as for every portable file
   */
  constructor({ services, openAccounts, argon2 }) {
    this.#services = services
    this.#openAccounts = openAccounts
    this.#folder = join(services.config.data, 'tmp')
    this.#argon2 = argon2
  }

  /**
   * @param {Unlocked} unlocked - its key is disposed of here, whatever happens
   * @param {Uint8Array} password - that the file shall open with
   * @returns {Promise<{ stream: import('node:stream').Readable, bytes: number }>} the stream is to be read or destroyed
   * @throws {MailError} BUSY where the account has one already, or the process MAX_AT_ONCE; SCRATCH_FULL, DISK_FULL,
   *   ACCOUNT_DAMAGED; what opening the mailbox throws
   */
  async make(unlocked, password) {
    using masterKey = unlocked.masterKey.clone()
    const { id } = unlocked.account
    if (this.#running.has(id) || this.#running.size >= MAX_AT_ONCE) {
      unlocked.masterKey.dispose()
      throw new MailError('BUSY', { detail: 'downloads' })
    }
    this.#running.add(id)
    const done = () => this.#running.delete(id)
    try {
      // The mailbox is opened like any other: this takes in the mail that waits in its spool, and locks it again later.
      const { account, store, release } = await this.#openAccounts.acquire(unlocked)
      try {
        const { folder } = account
        const { pages, freePages, pageBytes } = await store.upkeep.readSpace()
        const { header, file, bytes } = await this.#make(
          { folder, masterKey, cipher: store.cipher, password },
          (pages - freePages) * pageBytes
        )
        const stream = file.createReadStream()
        stream.unshift(header)
        stream.once('close', done)
        return { stream, bytes }
      } finally {
        await release()
      }
    } catch (error) {
      done()
      throw error
    }
  }

  /**
   * @param {Omit<import('../export/write-portable.js').PortableRequest, 'argon2'>} request
   * @param {number} maxBytes - the largest that the copy may become
   * @returns {Promise<{ header: Buffer, file: import('node:fs/promises').FileHandle, bytes: number }>} the file has no name
   */
  async #make(request, maxBytes) {
    const scratch = await this.#takeRoom(maxBytes)
    try {
      const argon2 = this.#argon2
      const made = await makePortable({ ...request, ...(argon2 && { argon2 }) }, scratch)
      return { header: made.header, file: await open(made.database, 'r'), bytes: made.bytes }
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  }

  /**
   * Makes the folder first and then looks for room, so that each of two which begin at once sees the other. In one process they
   * begin one after the other, so that the first is let in; in two workers both may be refused, but never are both let in where
   * there is room for one.
   *
   * @param {number} maxBytes
   * @returns {Promise<string>} the folder: `maxBytes` of room are kept for it while it exists
   * @throws {MailError} SCRATCH_FULL
   */
  #takeRoom(maxBytes) {
    return this.#entries.add(async () => {
      const prefix = join(this.#folder, `.download-${process.pid}-${maxBytes}-`)
      const scratch = makeScratchFolder(prefix, () => {})
      try {
        await requireRoom(this.#folder, await this.#bytesToCome())
        return scratch
      } catch (error) {
        await rm(scratch, { recursive: true, force: true })
        throw error
      }
    })
  }

  /** @returns {Promise<number>} bytes that the downloads of all workers have still to write, at most */
  async #bytesToCome() {
    let sum = 0
    for (const name of await readdir(this.#folder)) {
      const [, pid, maxBytes = 0] = NAME.exec(name) ?? []
      if (pid === undefined || !isAlive(Number(pid))) continue
      const copy = await stat(mailFile(join(this.#folder, name))).catch(() => null)
      sum += Math.max(0, Number(maxBytes) - (copy?.size ?? 0))
    }
    return sum
  }

  /** Removes what killed processes have left: it is encrypted, but large. */
  async removeLeftovers() {
    for (const name of await readdir(this.#folder)) {
      const pid = Number(NAME.exec(name)?.[1] ?? NaN)
      if (Number.isNaN(pid) || (pid !== process.pid && isAlive(pid))) continue
      await rm(join(this.#folder, name), { recursive: true, force: true })
    }
  }
}

/**
 * @param {number} pid
 * @returns {boolean}
 */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process is alive, and another user's.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
