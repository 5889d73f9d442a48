/**
 * A slow look at what the host has on disk: spools, what was set aside, write-ahead logs, the shape of the mailbox files. It
 * runs in the background, again and again, so that neither a health check nor a scrape ever walks ten thousand folders.
 * Files are looked at by `stat` alone: opening and closing a database that SQLite has open would drop its locks.
 */
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { mailFile } from '../database/database-files.js'
import { diskTrouble } from '../support/disk-trouble.js'
import { lacksDescriptors } from '../support/lacks-descriptors.js'

/** @import { DirectoryPort } from '../accounts/directory-port.js' */

/** Time between the end of one survey and the next, ms. */
const INTERVAL_MS = 60_000
/** Accounts between two pauses, and a pause, ms: a survey of 10,000 accounts takes some seconds of one core. */
const ACCOUNTS_PER_SLICE = 50
const PAUSE_MS = 5
/**
 * A page of a mailbox has this many bytes, or twice as many (AEGIS-256: see src/database/setup-pragma.js). Which of the two
 * cannot be told by the cipher: a file that was converted keeps its page size.
 */
const PAGE_BYTES = 4096
/** A look that has got no further for so long, ms, waits for a disk that does not answer: fifty accounts take far less. */
const HANGS_MS = 5 * 60_000
/** At most so many mailboxes are named in each list of ids. */
const MAX_NAMED = 10

/**
 * @typedef {object} Survey
 * @property {number} atMs
 * @property {number} freeBytes - on the disk that has the data folder
 * @property {number} totalBytes
 * @property {string | null} diskTrouble - why that disk takes nothing, as the system's code; null: it can be written
 * @property {number} freeFiles - how many files can still be made there, room apart
 * @property {number} totalFiles - 0 where the file system knows no such bound
 * @property {number} spoolFiles - sealed mail that waits
 * @property {number} spoolBytes
 * @property {number | null} oldestSpoolMs - when the oldest of it came; null: none waits
 * @property {number | null} oldestOpenSpoolMs - the same, only of mailboxes that were open and had waiting mail at the look
 *   before, too
 * @property {number} setAside - files in spool/aside: they could not be opened or taken in
 * @property {number} walBytes - of all write-ahead logs
 * @property {number} largestWalBytes
 * @property {number} directoryWalBytes
 * @property {number} mailboxes - that were looked at
 * @property {number} misshapen - of these, missing or of a size that no mailbox has
 * @property {string[]} misshapenIds - of the first of them
 * @property {number} unreadable - whose folder could not be looked at
 * @property {string[]} unreadableIds - of the first of them
 * @property {number} damaged - that sessions or SQLite’s own check have found, and nothing has cleared since
 * @property {string[]} damagedIds - some of them
 */

/** So many files are looked at together: that halves the time, and the processor's, for a spool of 20,000 (measured). */
const STATS_AT_ONCE = 16

/**
 * @param {string} folder
 * @returns {Promise<string[]>} empty where there is no such folder
 */
async function namesIn(folder) {
  try {
    return await readdir(folder)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return []
    throw error
  }
}

/**
 * @param {string} path
 * @returns {Promise<import('node:fs').Stats | null>} null where there is no such file
 */
async function statIfThere(path) {
  try {
    return await stat(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null
    throw error
  }
}

/** Surveys the disk, and keeps the last survey. */
export class HostSurvey {
  #options
  #stop = new AbortController()
  /** @type {Promise<void>} */
  #running = Promise.resolve()
  /** @type {Survey | null} */
  #last = null
  /** @type {Promise<Survey> | null} */
  #underWay = null
  /** The error of the last look; null: it did not fail. */
  #failure = /** @type {unknown} */ (null)
  /** When the look that is under way got further. */
  #movedAtMs = 0
  /** @type {Set<string>} ids of mailboxes that were open at the last look, and had mail that waits */
  #openBefore = new Set()

  /**
   * @param {object} options
   * @param {string} options.data
   * @param {DirectoryPort} options.directory
   * @param {(accountIds: string[]) => Promise<string[]>} options.whichAreOpen - those of them that some worker has open
   * @param {import('../support/clock.js').Clock} options.clock
   * @param {import('../telemetry/logger.js').Logger} options.logger
   */
  constructor(options) {
    this.#options = options
  }

  /** Begins to look, at once and then every minute. */
  start() {
    this.#running = this.#loop()
  }

  /** @returns {Promise<Survey>} the last one, however old; where there is none yet, the first one */
  async read() {
    return this.#last ?? (await this.look())
  }

  /**
   * @returns {Promise<Survey>} as `read`, unless a later look has failed, or hangs
   * @throws the error of that look
   */
  async readCurrent() {
    const last = await this.read()
    if (this.#failure !== null) throw this.#failure
    const stillMs = this.#options.clock.nowMs() - this.#movedAtMs
    if (this.#underWay !== null && stillMs > HANGS_MS)
      throw new Error(`The survey of the disk has got no further for ${stillMs} ms`)
    return last
  }

  /** Ends a look that is under way. */
  async close() {
    this.#stop.abort()
    await this.#running
  }

  async #loop() {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await this.look()
      } catch (err) {
        const level = lacksDescriptors(err) ? 'warn' : 'error'
        if (!signal.aborted) this.#options.logger[level]({ err }, 'the disk could not be surveyed')
      }
      await sleep(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {
        // Told to stop.
      })
    }
  }

  /** @returns {Promise<Survey>} of now, or of the look that is under way */
  look() {
    return (this.#underWay ??= this.#lookOnce())
  }

  /** @returns {Promise<Survey>} */
  async #lookOnce() {
    try {
      this.#last = await this.#lookAtAll()
      this.#failure = null
      return this.#last
    } catch (error) {
      // Without a descriptor the disk could not be asked, which says nothing about it; the pressure check tells of that.
      if (!lacksDescriptors(error)) this.#failure = error
      throw error
    } finally {
      this.#underWay = null
    }
  }

  /** @returns {Promise<Survey>} */
  async #lookAtAll() {
    const { data, directory, clock } = this.#options
    this.#movedAtMs = clock.nowMs()
    const disk = await statfs(data)
    /** @type {Survey} */
    const survey = {
      atMs: clock.nowMs(),
      freeBytes: disk.bavail * disk.bsize,
      totalBytes: disk.blocks * disk.bsize,
      diskTrouble: await diskTrouble(data),
      freeFiles: disk.ffree,
      totalFiles: disk.files,
      spoolFiles: 0,
      spoolBytes: 0,
      oldestSpoolMs: null,
      oldestOpenSpoolMs: null,
      setAside: 0,
      walBytes: 0,
      largestWalBytes: 0,
      directoryWalBytes: (await statIfThere(join(data, 'directory.db-wal')))?.size ?? 0,
      mailboxes: 0,
      misshapen: 0,
      misshapenIds: [],
      unreadable: 0,
      unreadableIds: [],
      damaged: 0,
      damagedIds: []
    }
    /** @type {Set<string>} */
    const openNow = new Set()
    for (let afterId = ''; ;) {
      const page = await directory.pageFolders({ afterId, limit: ACCOUNTS_PER_SLICE })
      /** @type {Map<string, number>} when the oldest mail came, by id */
      const waiting = new Map()
      for (const { id, folder: stored } of page) {
        const folder = join(data, stored)
        try {
          const isWhole = await lookAtMailbox(survey, folder)
          if (!isWhole && (await this.#isStillCut({ id, folder }))) noteMisshapen(survey, id)
          const oldestMs = await lookAtSpool(survey, join(folder, 'spool'))
          if (oldestMs !== null) waiting.set(id, oldestMs)
        } catch (err) {
          if (lacksDescriptors(err)) throw err
          // One folder that cannot be looked at must not end the survey of all others.
          this.#noteUnreadable(survey, id, err)
        }
      }
      await this.#lookAtOpen(survey, waiting, openNow)
      this.#movedAtMs = clock.nowMs()
      const last = page.at(-1)
      if (!last || page.length < ACCOUNTS_PER_SLICE) break
      afterId = last.id
      await sleep(PAUSE_MS, undefined, { signal: this.#stop.signal })
    }
    Object.assign(survey, await directory.listDamaged(MAX_NAMED))
    this.#openBefore = openNow
    return survey
  }

  /**
   * @param {Survey} survey - added to
   * @param {Map<string, number>} waiting - when the oldest mail came, by id
   * @param {Set<string>} openNow - added to
   */
  async #lookAtOpen(survey, waiting, openNow) {
    if (waiting.size === 0) return
    for (const id of await this.#options.whichAreOpen([...waiting.keys()])) {
      openNow.add(id)
      if (!this.#openBefore.has(id)) continue
      const oldestMs = waiting.get(id) ?? Infinity
      survey.oldestOpenSpoolMs = Math.min(survey.oldestOpenSpoolMs ?? Infinity, oldestMs)
    }
  }

  /**
   * Looks again: since `pageFolders` the account may have been deleted, or begun anew in another folder; and while a restore
   * puts its files in place, one may be missing.
   *
   * @param {{ id: string, folder: string }} account - whose mailbox file was missing or cut off
   * @returns {Promise<boolean>} whether it still is, for none of these reasons
   */
  async #isStillCut({ id, folder }) {
    const { directory } = this.#options
    const now = await directory.findAccount(id)
    const restore = await directory.findRestore(id)
    if (now?.folder !== folder || restore?.state === 'switching') return false
    return !isWholeFile(await statIfThere(mailFile(folder)))
  }

  /**
   * @param {Survey} survey - added to
   * @param {string} accountId
   * @param {unknown} err
   */
  #noteUnreadable(survey, accountId, err) {
    survey.unreadable++
    if (survey.unreadableIds.length >= MAX_NAMED) return
    survey.unreadableIds.push(accountId)
    this.#options.logger.error({ accountId, err }, 'the folder of a mailbox cannot be looked at')
  }
}

/**
 * @param {import('node:fs').Stats | null} file - a mailbox's
 * @returns {boolean} whether it has the shape of one
 */
const isWholeFile = (file) => file !== null && file.size > 0 && file.size % PAGE_BYTES === 0

/**
 * @param {Survey} survey - added to
 * @param {string} folder - absolute
 * @returns {Promise<boolean>} whether the file is whole
 */
async function lookAtMailbox(survey, folder) {
  const file = await statIfThere(mailFile(folder))
  const wal = (await statIfThere(`${mailFile(folder)}-wal`))?.size ?? 0
  survey.mailboxes++
  survey.walBytes += wal
  survey.largestWalBytes = Math.max(survey.largestWalBytes, wal)
  return isWholeFile(file)
}

/**
 * @param {Survey} survey - added to
 * @param {string} accountId
 */
function noteMisshapen(survey, accountId) {
  survey.misshapen++
  if (survey.misshapenIds.length < MAX_NAMED) survey.misshapenIds.push(accountId)
}

/**
 * @param {Survey} survey - added to
 * @param {string} spool - the folder
 * @returns {Promise<number | null>} when the oldest that waits came; null: none waits
 */
async function lookAtSpool(survey, spool) {
  let oldestMs = Infinity
  const names = await namesIn(spool)
  if (names.includes('aside')) survey.setAside += (await namesIn(join(spool, 'aside'))).length
  const sealed = names.filter((name) => name.endsWith('.sealed'))
  for (let at = 0; at < sealed.length; at += STATS_AT_ONCE) {
    const some = sealed.slice(at, at + STATS_AT_ONCE)
    for (const file of await Promise.all(some.map((name) => statIfThere(join(spool, name))))) {
      // Drained since `readdir`.
      if (file === null) continue
      survey.spoolFiles++
      survey.spoolBytes += file.size
      oldestMs = Math.min(oldestMs, file.mtimeMs)
    }
  }
  if (oldestMs === Infinity) return null
  survey.oldestSpoolMs = Math.min(survey.oldestSpoolMs ?? Infinity, oldestMs)
  return oldestMs
}
