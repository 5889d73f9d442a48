/**
 * What a target has at the beginning of a run. A run builds on the one before, so that what is missing would be missing
 * from every backup to come: what was lost there is stored again.
 */
import { MailError } from '../errors.js'
import { PREFIXES, packOfObject } from './repository.js'
import { unitsOf } from './snapshot-format.js'
import { counted } from '../support/format.js'

/** Packs and keys, as they are listed. */
export class StoredObjects {
  /** @type {Map<string, number>} bytes by pack */
  #packs = new Map()
  /** @type {Set<string>} names of objects that are not empty */
  #keys = new Set()

  /**
   * @param {import('./targets/target.js').BackupTarget} target
   * @returns {Promise<StoredObjects>}
   * @throws {MailError} BACKUP_UNREACHABLE
   */
  static async list(target) {
    const stored = new StoredObjects()
    for await (const { name, size } of target.list(PREFIXES.packs)) {
      const pack = packOfObject(name)
      if (pack !== null) stored.#packs.set(pack, size)
    }
    for await (const { name, size } of target.list(PREFIXES.keys))
      if (size > 0) stored.#keys.add(name)
    return stored
  }

  /**
   * @param {import('./snapshot-format.js').Unit} unit
   * @returns {boolean} whether its pack is there, and long enough
   */
  hasUnit({ pack, offset, length }) {
    return (this.#packs.get(pack) ?? 0) >= offset + length
  }

  /**
   * @param {import('./snapshot-format.js').Snapshot} snapshot
   * @returns {boolean} whether every unit of it is there
   */
  hasSnapshot(snapshot) {
    for (const unit of unitsOf(snapshot)) if (!this.hasUnit(unit)) return false
    return true
  }

  /**
   * Whatever is needed and was there at the beginning must still be there: somebody may have removed it, such as another host
   * that also takes these backups for its own. What this run has stored may not be listed yet.
   *
   * @param {import('./targets/target.js').BackupTarget} target
   * @param {{ packs: Iterable<string>, entries: Iterable<{ keys: string }> }} needed
   * @throws {MailError} BACKUP_DAMAGED, BACKUP_UNREACHABLE
   */
  async requireStill(target, { packs, entries }) {
    const now = await StoredObjects.list(target)
    let lost = 0
    for (const pack of packs) if (this.#packs.has(pack) && !now.#packs.has(pack)) lost++
    for (const { keys } of entries) if (this.hasKeys(keys) && !now.hasKeys(keys)) lost++
    if (lost === 0) return
    throw new MailError('BACKUP_DAMAGED', {
      detail: `${counted(lost, 'object was', 'objects were')} removed while the backup ran: does another host use ${target.label}?`
    })
  }

  /**
   * @param {string} object - keys of an account
   * @returns {boolean}
   */
  hasKeys(object) {
    return this.#keys.has(object)
  }
}
