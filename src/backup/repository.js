/**
 * How a target is laid out. Every name is written once and never changed, but for the manifests that a prune rewrites.
 *
 *     letterlock-backup.json              whose backups these are, and the recipient of what is sealed
 *     generations/<name>.json             a run: every account's snapshot and keys; written last
 *     packs/<xx>/<name>.pack              units of 64 KiB and snapshots, one after the other
 *     keys/<account>/<name>.age           wrapped keys of an account, sealed to the recovery key
 *     directory/<name>.age                the account directory without keys, sealed
 *     pepper/<id>.age                     the pepper, sealed
 *     partial.json                        how far a run has come that was not finished
 */
import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { MARKER } from './marker.js'

/**
 * @typedef {import('./targets/target.js').BackupTarget} BackupTarget
 *
 * @typedef {object} RepositoryMarker
 * @property {string} repositoryId
 * @property {string} recipient - `age1…`
 * @property {number} createdAtMs
 * @property {string} [hostId] - of the host that makes them; without it, of the first one
 *
 * @typedef {object} SnapshotPointer - where a snapshot's bytes are
 * @property {string} pack
 * @property {number} offset
 * @property {number} size - bytes
 * @property {string} sha256 - hexadecimal
 *
 * @typedef {object} FileStamp - of `mail.db`: while it is the same and there is no `-wal`, nothing has changed
 * @property {string} inode
 * @property {number} size
 * @property {string} mtimeNs
 * @property {string} ctimeNs
 *
 * @typedef {object} AccountEntry
 * @property {string} id
 * @property {number} keyEpoch
 * @property {SnapshotPointer} snapshot
 * @property {string} keys - name of the object; empty in partial.json
 * @property {number} bytes - of the mailbox and its spool
 * @property {number} copiedAtMs - the mailbox as of this time
 * @property {FileStamp | null} stamp - null where the mailbox was open
 *
 * @typedef {object} Generation
 * @property {string} name
 * @property {number} startedAtMs
 * @property {number} finishedAtMs
 * @property {string} directory - name of the object
 * @property {string} pepper - name of the object
 * @property {AccountEntry[]} accounts
 * @property {{ id: string, code: string }[]} failed - for these, `accounts` has an older snapshot or none
 * @property {{ newBytes: number, sharedBytes: number }} counts
 *
 * @typedef {object} PartialRun
 * @property {number} startedAtMs
 * @property {AccountEntry[]} accounts
 */

const FORMAT = 'letterlock/1'
const PARTIAL = 'partial.json'
const GENERATIONS = 'generations/'
const GENERATION_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?$/

export const PREFIXES = Object.freeze({
  packs: 'packs/',
  keys: 'keys/',
  directory: 'directory/',
  pepper: 'pepper/'
})

/** @returns {string} a name that no pack has had */
export const newPackName = () => randomBytes(16).toString('hex')

/**
 * @param {string} name - 32 hexadecimal digits
 * @returns {string} its object: spread over folders, which have no more than some thousand entries then
 */
export const packObject = (name) => `${PREFIXES.packs}${name.slice(0, 2)}/${name}.pack`

/**
 * @param {string} object
 * @returns {string | null} the pack's name; null for what is none
 */
export const packOfObject = (object) =>
  /^packs\/[0-9a-f]{2}\/([0-9a-f]{32})\.pack$/.exec(object)?.[1] ?? null

/**
 * @param {string} accountId
 * @param {string} name
 * @returns {string}
 */
export const keysObject = (accountId, name) => `${PREFIXES.keys}${accountId}/${name}.age`

/**
 * @param {number} timeMs
 * @returns {string} for instance 2026-11-21T03-14-07Z: sorts by time, and is a file name everywhere
 */
export const generationName = (timeMs) =>
  new Date(timeMs)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')

/**
 * @param {string} name - of a generation
 * @returns {number} when it began, ms
 */
export const generationTimeMs = (name) =>
  Date.parse(`${name.slice(0, 13)}:${name.slice(14, 16)}:${name.slice(17, 19)}Z`)

/** Reads and writes the small objects of a target. */
export class Repository {
  /** @param {BackupTarget} target */
  constructor(target) {
    this.target = target
  }

  /** @returns {Promise<RepositoryMarker | null>} null where no backup has been set up */
  async readMarker() {
    return /** @type {RepositoryMarker | null} */ (await this.#readJson(MARKER))
  }

  /** @param {RepositoryMarker} marker */
  async writeMarker(marker) {
    await this.#writeJson(MARKER, marker)
  }

  /** @returns {Promise<string[]>} names, the oldest first */
  async listGenerations() {
    /** @type {string[]} */
    const names = []
    for await (const { name } of this.target.list(GENERATIONS)) {
      const base = name.slice(GENERATIONS.length).replace(/\.json$/, '')
      if (GENERATION_NAME.test(base)) names.push(base)
    }
    return names.sort()
  }

  /**
   * @param {number} startedAtMs
   * @returns {Promise<string>} of this second, or with a number where there is one of it already
   */
  async newName(startedAtMs) {
    const names = new Set(await this.listGenerations())
    const base = generationName(startedAtMs)
    for (let number = 2, name = base; ; name = `${base}-${number++}`)
      if (!names.has(name)) return name
  }

  /**
   * @param {string} name
   * @returns {Promise<Generation>}
   * @throws {MailError} BACKUP_MISSING, BACKUP_DAMAGED
   */
  async readGeneration(name) {
    const generation = GENERATION_NAME.test(name)
      ? await this.#readJson(`${GENERATIONS}${name}.json`)
      : null
    if (!generation) throw new MailError('BACKUP_MISSING', { detail: name })
    return /** @type {Generation} */ (generation)
  }

  /** @param {Generation} generation - everything that it names is stored */
  async writeGeneration(generation) {
    await this.#writeJson(`${GENERATIONS}${generation.name}.json`, generation)
  }

  /** @param {string[]} names */
  async removeGenerations(names) {
    await this.target.remove(names.map((name) => `${GENERATIONS}${name}.json`))
  }

  /** @returns {Promise<PartialRun | null>} */
  async readPartial() {
    return /** @type {PartialRun | null} */ (await this.#readJson(PARTIAL))
  }

  /** @param {PartialRun} partial - everything that it names is stored */
  async writePartial(partial) {
    await this.#writeJson(PARTIAL, partial)
  }

  /** Once a generation stands, or nothing of the partial run is wanted. */
  async removePartial() {
    await this.target.remove([PARTIAL])
  }

  /**
   * @param {string} name
   * @returns {Promise<object | null>}
   */
  async #readJson(name) {
    const bytes = await this.target.get(name)
    if (!bytes) return null
    try {
      const { format, ...value } = JSON.parse(bytes.toString('utf8'))
      if (format === FORMAT) return value
    } catch (cause) {
      throw new MailError('BACKUP_DAMAGED', { detail: `${name} is not JSON`, cause })
    }
    throw new MailError('FILE_TOO_NEW', { detail: `${name} has another format` })
  }

  /**
   * @param {string} name
   * @param {object} value
   */
  async #writeJson(name, value) {
    await this.target.put(name, Buffer.from(`${JSON.stringify({ format: FORMAT, ...value })}\n`))
  }
}
