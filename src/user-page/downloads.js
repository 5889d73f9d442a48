/**
 * A portable file of a mailbox, made for one download. It is encrypted like any other (src/export), lies in `<data>/tmp`
 * while it is made, and has no name any more when the first byte goes out: it is gone with the connection.
 */
import { randomBytes } from 'node:crypto'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { writePortable } from '../export/write-portable.js'
import { requireRoom } from '../support/room.js'

/** @import { AccountServices } from '../accounts/services.js' */
/** @import { OpenAccounts } from '../accounts/open-accounts.js' */
/** @import { Unlocked } from '../accounts/unlock.js' */

/** At once in a process: each takes the room of its copies, and 256 MiB of memory for a second. */
const MAX_AT_ONCE = 4

/** Of the mailbox, that there are at a time while one is made. */
const COPIES = 2

const NAME = /^\.?download-(\d+)-/

/** Makes downloads, one at a time for each account. */
export class Downloads {
  #services
  #openAccounts
  #folder
  #argon2
  /** @type {Set<string>} accounts */
  #running = new Set()

  /**
   * @param {object} options
   * @param {AccountServices} options.services
   * @param {Pick<OpenAccounts, 'acquire'>} options.openAccounts
   * @param {import('../crypto/kdf.js').Argon2Params} [options.argon2] - the file's own unless told
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
   * @throws {MailError} BUSY where there is one already; SCRATCH_FULL, DISK_FULL, ACCOUNT_DAMAGED; what opening the mailbox
   *   throws
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
      // Open meanwhile, with the mail that waits in the spool, and locked again by the rules of all mailboxes.
      const { account, store, release } = await this.#openAccounts.acquire(unlocked)
      try {
        const { folder } = account
        const { pages, freePages, pageBytes } = await store.upkeep.readSpace()
        await requireRoom(this.#folder, COPIES * (pages - freePages) * pageBytes)
        const { file, bytes } = await this.#write({
          folder,
          masterKey,
          cipher: store.cipher,
          password
        })
        const stream = file.createReadStream()
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
   * @param {Pick<Parameters<typeof writePortable>[0], 'folder' | 'masterKey' | 'cipher' | 'password'>} request
   * @returns {Promise<{ file: import('node:fs/promises').FileHandle, bytes: number }>} the file has no name
   */
  async #write(request) {
    const name = `download-${process.pid}-${randomBytes(8).toString('hex')}`
    const out = join(this.#folder, name)
    try {
      const argon2 = this.#argon2
      const { bytes } = await writePortable({ ...request, out, ...(argon2 && { argon2 }) })
      return { file: await open(out, 'r'), bytes }
    } finally {
      await rm(out, { force: true })
    }
  }

  /** Removes what a killed process has left; encrypted, but large. */
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
    // Somebody else's process is alive as well.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
