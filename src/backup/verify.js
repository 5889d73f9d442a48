/**
 * What can be said of backups without a key: every object is there, every unit has its hash, and every `mail.db` begins
 * as one. The page MACs, the messages and the counters need a credential: see open-copy.js.
 */
import { MAIL_FILE } from '../database/database-files.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { MailError, isMailError } from '../errors.js'
import { systemClock } from '../support/clock.js'
import { inOrder } from './generation-order.js'
import { readUnits, requireMailboxHeader } from './materialize.js'
import { packObject } from './repository.js'
import { placeKey, unitsOf } from './snapshot-format.js'
import { readSnapshot } from './snapshot-store.js'

/**
 * @typedef {import('./repository.js').Repository} Repository
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 * @typedef {import('./repository.js').Generation} Generation
 *
 * @typedef {object} BackupProblem
 * @property {string} generation
 * @property {string} accountId - '' where it is the generation's own
 * @property {string} code
 * @property {string} detail
 *
 * @typedef {object} BackupReport
 * @property {number} generations
 * @property {number} snapshots - that were looked at, each once
 * @property {number} bytes - read and compared with their hashes
 * @property {BackupProblem[]} problems
 */

/** One look at a target. */
class Verifier {
  /** @type {Map<string, number | null>} sizes of objects that were asked for */
  #sizes = new Map()
  /** @type {Set<string>} places of snapshots that are good */
  #seen = new Set()
  /** @type {Promise<Set<string>> | null} accounts of the newest backup */
  #living = null
  /** @type {BackupReport} */
  report = { generations: 0, snapshots: 0, bytes: 0, problems: [] }

  /**
   * @param {Repository} repository
   * @param {{ isQuick: boolean, clock: import('../support/clock.js').Clock, onProgress: (report: BackupReport) => void }} options
   */
  constructor(repository, { isQuick, clock, onProgress }) {
    this.repository = repository
    this.clock = clock
    this.isQuick = isQuick
    this.onProgress = onProgress
  }

  /**
   * What a prune drops or moves while this looks at it is no damage: where a problem is found, the manifest is read again.
   *
   * @param {string} name - of a generation
   */
  async verifyGeneration(name) {
    const { problems } = this.report
    const found = problems.length
    this.report.generations += 1
    await this.#noting({ generation: name, accountId: '' }, async () => {
      let generation = await this.#readIfThere(name)
      while (generation !== null) {
        await this.#verifyObjects(generation)
        if (problems.length === found) return
        const again = await this.#readIfThere(name)
        if (JSON.stringify(again) === JSON.stringify(generation)) return
        problems.length = found
        this.#sizes.clear()
        generation = again
      }
      this.report.generations -= 1
    })
  }

  /**
   * @param {string} name
   * @returns {Promise<Generation | null>} null where it has been dropped
   */
  async #readIfThere(name) {
    try {
      return await this.repository.readGeneration(name)
    } catch (error) {
      if (isMailError(error, 'BACKUP_MISSING')) return null
      throw error
    }
  }

  /** @param {Generation} generation */
  async #verifyObjects({ name, directory, pepper, accounts }) {
    for (const object of [directory, pepper])
      await this.#noting({ generation: name, accountId: '' }, () => this.#requireObject(object))
    for (const entry of accounts)
      await this.#noting({ generation: name, accountId: entry.id }, () =>
        this.#verifyAccount(entry)
      )
  }

  /** @param {AccountEntry} entry */
  async #verifyAccount(entry) {
    const { target } = this.repository
    // The keys of an account that was deleted and erased are gone on purpose.
    const isErased = (await this.#size(entry.keys)) === null && (await this.#isErased(entry.id))
    if (!isErased) await this.#requireObject(entry.keys)
    const place = placeKey(entry.snapshot)
    if (this.#seen.has(place)) return
    const snapshot = await readSnapshot(target, entry.snapshot)
    /** @type {Map<string, number>} */
    const ends = new Map()
    for (const { pack, offset, length } of unitsOf(snapshot))
      ends.set(pack, Math.max(ends.get(pack) ?? 0, offset + length))
    for (const [pack, end] of ends) await this.#requireObject(packObject(pack), end)
    const wants = this.isQuick
      ? (/** @type {{ path: string }} */ { path }) => path === MAIL_FILE
      : undefined
    /** @type {import('./snapshot-format.js').SnapshotFile | null} */
    let file = null
    for await (const { unit, bytes } of readUnits(target, this.#chosen(unitsOf(snapshot, wants)))) {
      this.report.bytes += bytes.length
      if (unit.file !== file && unit.file.path === MAIL_FILE)
        requireMailboxHeader(bytes, unit.file.size)
      file = unit.file
      this.onProgress(this.report)
    }
    this.report.snapshots += 1
    this.#seen.add(place)
  }

  /**
   * @param {Iterable<import('./materialize.js').FileUnit>} units
   * @returns {Iterable<import('./materialize.js').FileUnit>} all, or for a quick look the first one
   */
  *#chosen(units) {
    for (const unit of units) {
      yield unit
      if (this.isQuick) return
    }
  }

  /**
   * @param {string} accountId
   * @returns {Promise<boolean>} whether the account is gone, and no key of it is left in any generation
   */
  async #isErased(accountId) {
    this.#living ??= this.#listLiving()
    if ((await this.#living).has(accountId)) return false
    const objects = this.repository.target.list(`keys/${accountId}/`)
    return (await objects[Symbol.asyncIterator]().next()).done === true
  }

  /** @returns {Promise<Set<string>>} ids of the accounts in the newest backup; one that is erased was deleted before that */
  async #listLiving() {
    const names = await this.repository.listGenerations()
    const newest = inOrder(names, this.clock.nowMs()).at(-1)
    const generation = newest === undefined ? null : await this.repository.readGeneration(newest)
    return new Set(generation?.accounts.map(({ id }) => id))
  }

  /**
   * @param {string} object
   * @returns {Promise<number | null>}
   */
  async #size(object) {
    if (!this.#sizes.has(object)) this.#sizes.set(object, await this.repository.target.size(object))
    return this.#sizes.get(object) ?? null
  }

  /**
   * @param {string} object
   * @param {number} [size] - bytes that it must have at least
   */
  async #requireObject(object, size = 1) {
    const found = await this.#size(object)
    if (found === null) throw new MailError('BACKUP_DAMAGED', { detail: `${object} is missing` })
    if (found < size) throw new MailError('BACKUP_DAMAGED', { detail: `${object} is too short` })
  }

  /**
   * @param {{ generation: string, accountId: string }} about
   * @param {() => Promise<void>} work
   */
  async #noting(about, work) {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof MailError) || error.temporary) throw error
      this.report.problems.push({ ...about, code: errorCodeOf(error), detail: error.detail ?? '' })
    }
    this.onProgress(this.report)
  }
}

/**
 * @param {object} input
 * @param {Repository} input.repository
 * @param {string[]} input.generations - names
 * @param {import('../support/clock.js').Clock} [input.clock]
 * @param {boolean} [input.isQuick] - sizes and the beginning of each mailbox, not every unit
 * @param {(report: BackupReport) => void} [input.onProgress] - the report so far
 * @returns {Promise<BackupReport>}
 * @throws {MailError} BACKUP_UNREACHABLE
 */
export async function verifyBackups({
  repository,
  generations,
  clock = systemClock,
  isQuick = false,
  onProgress = () => {}
}) {
  const verifier = new Verifier(repository, { isQuick, clock, onProgress })
  for (const name of generations) await verifier.verifyGeneration(name)
  return verifier.report
}
