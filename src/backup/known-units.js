/**
 * The units of one account that are stored already, by the names of their packs.
 */
import { RECORD_BYTES, unitsOf } from './snapshot-format.js'
import { UnitTable } from './unit-table.js'

/** @typedef {{ pack: string, offset: number }} StoredPlace */

/** Grows while a mailbox is being backed up. */
export class KnownUnits {
  #table
  /** @type {string[]} */
  #packs = []
  /** @type {Map<string, number>} */
  #indexes = new Map()

  /**
   * @param {import('./snapshot-format.js').Snapshot[]} snapshots - of the account
   * @param {(unit: import('./snapshot-format.js').Unit) => boolean} [isStored] - false where the pack was lost; default:
   *   none was
   */
  constructor(snapshots, isStored = () => true) {
    const expected = Math.max(0, ...snapshots.map(({ units }) => units.length / RECORD_BYTES))
    this.#table = new UnitTable(expected)
    for (const snapshot of snapshots)
      for (const unit of unitsOf(snapshot))
        if (isStored(unit)) this.add(unit.hash, unit.length, unit)
  }

  /**
   * @param {Buffer} hash
   * @param {number} length - bytes
   * @returns {StoredPlace | null}
   */
  find(hash, length) {
    const place = this.#table.find(hash, length)
    return place && { pack: /** @type {string} */ (this.#packs[place.pack]), offset: place.offset }
  }

  /**
   * @param {Buffer} hash
   * @param {number} length - bytes
   * @param {StoredPlace} place
   */
  add(hash, length, { pack, offset }) {
    let index = this.#indexes.get(pack)
    if (index === undefined) {
      index = this.#packs.push(pack) - 1
      this.#indexes.set(pack, index)
    }
    this.#table.add(hash, length, { pack: index, offset })
  }
}
