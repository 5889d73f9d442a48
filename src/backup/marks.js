/**
 * What the generations that stay need of a target, and how much of each pack.
 */
import { placeKey, unitsOf } from './snapshot-format.js'
import { readSnapshot } from './snapshot-store.js'

/**
 * @typedef {import('./repository.js').Repository} Repository
 * @typedef {import('./repository.js').SnapshotPointer} SnapshotPointer
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 * @typedef {import('./snapshot-format.js').Snapshot} Snapshot
 */

/** Objects and packs that something refers to. */
export class Marks {
  /** @type {Set<string>} */
  objects = new Set()
  /** @type {Map<string, number>} bytes of each pack that are needed */
  packs = new Map()
  /** @type {Map<string, Map<string, SnapshotPointer>>} by account, then by place: the same snapshot may lie in two packs */
  snapshots = new Map()

  /** @param {AccountEntry[]} entries */
  addEntries(entries) {
    for (const { id, keys, snapshot } of entries) {
      this.objects.add(keys)
      const known = this.snapshots.get(id)
      const place = placeKey(snapshot)
      if (known) known.set(place, snapshot)
      else this.snapshots.set(id, new Map([[place, snapshot]]))
    }
  }

  /**
   * Reads every snapshot, one account after the other, and counts each unit once.
   *
   * @param {Repository} repository
   * @throws {import('../errors.js').MailError} BACKUP_DAMAGED: nothing may be swept then
   */
  async countUnits(repository) {
    for (const pointers of this.snapshots.values()) {
      /** @type {Map<string, Set<number>>} */
      const seen = new Map()
      for (const pointer of pointers.values()) {
        this.#add(pointer.pack, pointer.size)
        const snapshot = await readSnapshot(repository.target, pointer)
        for (const { pack, offset, length } of unitsOf(snapshot)) {
          let offsets = seen.get(pack)
          if (!offsets) seen.set(pack, (offsets = new Set()))
          if (offsets.has(offset)) continue
          offsets.add(offset)
          this.#add(pack, length)
        }
      }
    }
  }

  /**
   * @param {string} pack
   * @param {number} bytes
   */
  #add(pack, bytes) {
    this.packs.set(pack, (this.packs.get(pack) ?? 0) + bytes)
  }
}
