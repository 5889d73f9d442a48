/**
 * Reads one account's files as of one moment, without a key, whether or not somebody has the mailbox open.
 *
 *     mail.freeze written ─► spool ─► held by its owner, or nobody has it open ─► mail.db ─► unchanged, held throughout?
 *
 * The spool comes first: what is taken out of it meanwhile is in `mail.db`, together with its name (the name is not
 * forgotten while mail.freeze is there), so that a restore delivers nothing twice and loses nothing.
 *
 * A copy of `mail.db`, or of a `-wal` beside it, is accepted only where the file has the same inode, size, mtime and
 * ctime at its end as at its beginning, and where an owner had it open, the owner says that the read mark was held
 * without a break. Whoever has no part in this (another program, a process that overlooks mail.freeze) can cost a try, never
 * yield a wrong copy.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, open, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAIL_FILE, mailFile } from '../database/database-files.js'
import { FreezeNotice } from '../database/freeze-file.js'
import { lockExclusive } from '../database/lock.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { listAside, listSpool } from '../delivery/spool.js'
import { MailError, isMailError } from '../errors.js'
import { connectOwners } from './owner-client.js'
import { MAILBOX_HEADER_BYTES, requireMailboxHeader } from './materialize.js'
import { HOLD_MS, RENEW_MS } from './owner-protocol.js'

/**
 * @typedef {import('./repository.js').FileStamp} FileStamp
 * @typedef {import('./staging.js').StagedFile} StagedFile
 * @typedef {import('./owner-client.js').Owner} Owner
 *
 * @typedef {object} CopyOptions
 * @property {import('../accounts/directory-port.js').Account} account
 * @property {string} runFolder - `<data>/run`
 * @property {string} scratchFolder
 * @property {import('./staging.js').Staging} staging
 * @property {import('./known-units.js').KnownUnits} known
 * @property {FileStamp | null} previousStamp - of the last backup
 * @property {import('../support/clock.js').Clock} clock
 * @property {(bytes: number) => void} onRead
 * @property {number} [holdMs] - how long an owner holds the mailbox without hearing of the backup; default: HOLD_MS
 *
 * @typedef {object} MailboxCopy
 * @property {StagedFile[]} spool
 * @property {StagedFile[] | null} mailbox - `mail.db`, and a `-wal` that a crash left; null: as at `previousStamp`
 * @property {FileStamp | null} stamp - for the next run; null where the mailbox was open
 */

/** After so many copies that were disturbed, the account counts as failed. */
const MAX_ATTEMPTS = 8

/** Pause after a disturbed copy, ms; grows with their number. */
const PAUSE_MS = 250

/** A command that has the mailbox open, and no socket to be asked at, is waited for so long in one attempt, ms. */
const LOCK_WAIT_MS = 1000

/** A kernel's clock for mtime ticks every 1 to 10 ms: after this long another write gives another time. */
const TICK_MS = 50

/** After so many looks at a file that is being written all the time, the try is given up: others wait for the lock meanwhile. */
const MAX_LOOKS = 5

/**
 * @param {string} path
 * @returns {Promise<FileStamp | null>} null where there is no file
 */
async function findStamp(path) {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return {
      inode: String(ino),
      size: Number(size),
      mtimeNs: String(mtimeNs),
      ctimeNs: String(ctimeNs)
    }
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * @param {FileStamp | null} stamp - of a `mail.db`
 * @returns {FileStamp}
 * @throws {MailError} ACCOUNT_DAMAGED where it is missing
 */
function requireThere(stamp) {
  if (stamp === null) throw new MailError('ACCOUNT_DAMAGED', { detail: 'mail.db is missing' })
  return stamp
}

/**
 * @param {FileStamp | null} a
 * @param {FileStamp | null} b
 * @returns {boolean} whether both are there, and nobody wrote between the two
 */
const isSameStamp = (a, b) =>
  a !== null &&
  b !== null &&
  a.inode === b.inode &&
  a.size === b.size &&
  a.mtimeNs === b.mtimeNs &&
  a.ctimeNs === b.ctimeNs

/**
 * A stamp that any later write must change: taken at least a tick of the kernel's clock after the last write.
 *
 * @param {string} path
 * @param {import('../support/clock.js').Clock} clock
 * @returns {Promise<FileStamp | null>} null where there is no file
 * @throws {MailError} BUSY where it is written all the time
 */
async function settledStamp(path, clock) {
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const stamp = await findStamp(path)
    if (stamp === null) return null
    const newestMs = Number(BigInt(stamp.mtimeNs) / 1_000_000n)
    const ageMs = clock.nowMs() - Math.max(newestMs, Number(BigInt(stamp.ctimeNs) / 1_000_000n))
    // A time in the future is of a clock that was set back since: any later write has another.
    if (ageMs > TICK_MS || ageMs < -TICK_MS) return stamp
    await sleep(TICK_MS)
  }
  throw new MailError('BUSY', { detail: 'the file is written all the time' })
}

/** Copies one mailbox. */
class MailboxCopier {
  /** @param {CopyOptions} options */
  constructor(options) {
    this.options = options
    this.folder = options.account.folder
    this.path = mailFile(this.folder)
  }

  /** @returns {Promise<MailboxCopy>} */
  async run() {
    const { staging, clock, holdMs = HOLD_MS } = this.options
    const token = randomBytes(16).toString('hex')
    requireThere(await findStamp(this.path))
    const { folder } = this
    const notice = await FreezeNotice.place({ folder, token, holdMs, renewMs: RENEW_MS, clock })
    try {
      const spool = await this.#stageSpool()
      const position = staging.position
      for (let attempt = 1; ; attempt++) {
        const copy = await this.#try()
        if (notice.failure) throw notice.failure
        if (copy) return { spool, ...copy }
        if (attempt === MAX_ATTEMPTS)
          throw new MailError('BUSY', { detail: 'the mailbox was changed during every copy' })
        await staging.rewind(position)
        await sleep(attempt * PAUSE_MS)
      }
    } finally {
      await notice.remove()
    }
  }

  /** @returns {Promise<StagedFile[]>} */
  async #stageSpool() {
    const spoolFolder = join(this.folder, 'spool')
    /** @type {StagedFile[]} */
    const staged = []
    const waiting = (await listSpool(spoolFolder)).map(({ name }) => name)
    await this.#stageEach(waiting, 'spool', staged)
    // Looked at afterwards: what does not open is set aside now and then, also while this reads.
    const taken = new Set(staged.map(({ path }) => basename(path)))
    const aside = (await listAside(spoolFolder)).filter((name) => !taken.has(name))
    await this.#stageEach(aside, 'spool/aside', staged)
    return staged
  }

  /**
   * @param {string[]} names
   * @param {string} within - the account's folder
   * @param {StagedFile[]} staged - gets them
   */
  async #stageEach(names, within, staged) {
    for (const name of names.sort()) {
      const path = `${within}/${name}`
      const source = join(this.folder, path)
      try {
        staged.push(await this.#stage(source, path, (await stat(source)).size))
      } catch (error) {
        // Since it was listed, it was drained into mail.db, which is copied later; or set aside, where is looked later, too.
        if (errorCodeOf(error) !== 'ENOENT') throw error
      }
    }
  }

  /**
   * @returns {Promise<Omit<MailboxCopy, 'spool'> | null>} null where it was disturbed
   */
  async #try() {
    const { account, runFolder, holdMs = HOLD_MS } = this.options
    const owners = await connectOwners(runFolder)
    try {
      for (const owner of owners) {
        const token = randomBytes(16).toString('hex')
        const question = { op: /** @type {const} */ ('freeze'), accountId: account.id }
        const state = await owner.ask({ ...question, token, forMs: holdMs })
        if (state === 'held') return await this.#copyHeld(owner, token)
        if (state === 'busy') return null
      }
      return await this.#copyClosed()
    } catch (error) {
      if (isMailError(error, 'BUSY')) return null
      throw error
    } finally {
      for (const owner of owners) owner.close()
    }
  }

  /**
   * @param {Owner} owner
   * @param {string} token
   * @returns {Promise<Omit<MailboxCopy, 'spool'> | null>}
   */
  async #copyHeld(owner, token) {
    const { clock, scratchFolder, holdMs = HOLD_MS } = this.options
    const before = requireThere(await settledStamp(this.path, clock))
    await this.#requireSane(before.size)
    const timer = setInterval(() => owner.ask({ op: 'renew', token, forMs: holdMs }), RENEW_MS)
    const clone = join(scratchFolder, `clone-${token}`)
    try {
      const isCloned = await this.#clone(clone)
      const stageNow = isCloned ? null : await this.#stage(this.path, MAIL_FILE, before.size)
      const state = await owner.ask({ op: 'thaw', token })
      if (state !== 'unbroken' || !isSameStamp(before, await findStamp(this.path))) return null
      return {
        mailbox: [stageNow ?? (await this.#stage(clone, MAIL_FILE, before.size))],
        stamp: null
      }
    } finally {
      clearInterval(timer)
      await rm(clone, { force: true })
    }
  }

  /**
   * Where the file system shares blocks between files, the mailbox is frozen for no longer than this takes.
   *
   * @param {string} clone
   * @returns {Promise<boolean>} false where it does not
   */
  async #clone(clone) {
    try {
      await copyFile(this.path, clone, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL)
      return true
    } catch (error) {
      await rm(clone, { force: true })
      if (['ENOTSUP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY'].includes(errorCodeOf(error)))
        return false
      throw error
    }
  }

  /**
   * Nobody has the mailbox open, and nobody can while the lock is held: its stamp is taken then, and the `-wal` that a crash
   * may have left. `mail.db` itself is read without the lock, so that a login waits for nothing; what that login writes goes
   * into a `-wal`.
   *
   * @returns {Promise<Omit<MailboxCopy, 'spool'> | null>}
   */
  async #copyClosed() {
    const { clock, previousStamp } = this.options
    const lock = await lockExclusive(this.folder, { timeoutMs: LOCK_WAIT_MS })
    /** @type {FileStamp} */
    let before
    /** @type {StagedFile[]} */
    const wal = []
    try {
      before = requireThere(await settledStamp(this.path, clock))
      const log = await settledStamp(`${this.path}-wal`, clock)
      if (log !== null && log.size > 0) {
        wal.push(await this.#stage(`${this.path}-wal`, `${MAIL_FILE}-wal`, log.size))
        // A log that was begun anew meanwhile would be copied as the beginning of the old one and the rest of the new one.
        if (!isSameStamp(log, await findStamp(`${this.path}-wal`))) return null
      } else if (isSameStamp(previousStamp, before)) return { mailbox: null, stamp: before }
      else await this.#requireSane(before.size)
    } finally {
      lock.release()
    }
    const database = await this.#stage(this.path, MAIL_FILE, before.size)
    if (!isSameStamp(before, await findStamp(this.path))) return null
    return { mailbox: [...wal, database], stamp: wal.length === 0 ? before : null }
  }

  /**
   * A file that is plainly no mailbox, for instance because a crash of the file system has emptied it, must not become the last
   * backup of one. If there is a `-wal`, it may have what is missing.
   *
   * @param {number} size - of `mail.db`, bytes
   * @throws {MailError} ACCOUNT_DAMAGED
   */
  async #requireSane(size) {
    const handle = await open(this.path, 'r')
    try {
      const header = Buffer.alloc(MAILBOX_HEADER_BYTES)
      const { bytesRead } = await handle.read(header, 0, header.length, 0)
      requireMailboxHeader(header.subarray(0, bytesRead), size)
    } catch (cause) {
      if (!isMailError(cause, 'BACKUP_DAMAGED')) throw cause
      throw new MailError('ACCOUNT_DAMAGED', { detail: cause.detail ?? '', cause })
    } finally {
      await handle.close()
    }
  }

  /**
   * @param {string} source
   * @param {string} path
   * @param {number} size
   * @returns {Promise<StagedFile>}
   */
  #stage(source, path, size) {
    const { staging, known, onRead } = this.options
    return staging.stage({ source, path, size, known, onRead })
  }
}

/**
 * @param {CopyOptions} options
 * @returns {Promise<MailboxCopy>} staged, in this order: the spool, then the mailbox
 * @throws {MailError} BUSY where it was disturbed each time, ACCOUNT_DAMAGED where there is no mailbox, SCRATCH_FULL
 */
export function copyMailbox(options) {
  return new MailboxCopier(options).run()
}
