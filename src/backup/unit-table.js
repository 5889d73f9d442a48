/**
 * Which units of a mailbox a backup has already, and where: a hash table over one buffer, because a mailbox of 100 GB
 * has 1.6 million of them, and a Map of strings would take ten times the room.
 */

/**
 * @typedef {object} UnitPlace
 * @property {number} pack - index into the list of packs that the caller keeps
 * @property {number} offset - within the pack, bytes
 */

/** SHA-256. */
export const HASH_BYTES = 32
/** Hash, pack, offset, length. */
const RECORD_BYTES = HASH_BYTES + 12
const EMPTY = 0xffffffff

/** Hash → place, for units of any length. */
export class UnitTable {
  #records
  #slots
  #mask
  #count = 0

  /** @param {number} expected - units; more than that make it grow */
  constructor(expected = 0) {
    const size = Math.max(64, 2 ** Math.ceil(Math.log2((expected + 1) * 2)))
    this.#slots = new Uint32Array(size).fill(EMPTY)
    this.#mask = size - 1
    this.#records = Buffer.alloc((size / 2) * RECORD_BYTES)
  }

  /** @returns {number} units */
  get size() {
    return this.#count
  }

  /**
   * @param {Buffer} hash
   * @param {number} length - of the unit, bytes
   * @returns {UnitPlace | null}
   */
  find(hash, length) {
    const record = this.#slots[this.#slotOf(hash)] ?? EMPTY
    if (record === EMPTY) return null
    const at = record * RECORD_BYTES + HASH_BYTES
    // Another length under the same SHA-256 is no unit that anybody wrote.
    if (this.#records.readUInt32BE(at + 8) !== length) return null
    return { pack: this.#records.readUInt32BE(at), offset: this.#records.readUInt32BE(at + 4) }
  }

  /**
   * @param {Buffer} hash
   * @param {number} length - bytes
   * @param {UnitPlace} place - the first one stays where a unit is added twice
   */
  add(hash, length, { pack, offset }) {
    if ((this.#count + 1) * 2 > this.#slots.length) this.#grow()
    const slot = this.#slotOf(hash)
    if (this.#slots[slot] !== EMPTY) return
    const at = this.#count * RECORD_BYTES
    hash.copy(this.#records, at, 0, HASH_BYTES)
    this.#records.writeUInt32BE(pack, at + HASH_BYTES)
    this.#records.writeUInt32BE(offset, at + HASH_BYTES + 4)
    this.#records.writeUInt32BE(length, at + HASH_BYTES + 8)
    this.#slots[slot] = this.#count++
  }

  /**
   * @param {Buffer} hash
   * @returns {number} where it is, or where it would go
   */
  #slotOf(hash) {
    let slot = hash.readUInt32BE(0) & this.#mask
    for (;;) {
      const record = this.#slots[slot] ?? EMPTY
      if (record === EMPTY) return slot
      const at = record * RECORD_BYTES
      if (this.#records.compare(hash, 0, HASH_BYTES, at, at + HASH_BYTES) === 0) return slot
      slot = (slot + 1) & this.#mask
    }
  }

  #grow() {
    const size = this.#slots.length * 2
    const records = Buffer.alloc((size / 2) * RECORD_BYTES)
    this.#records.copy(records)
    this.#records = records
    this.#slots = new Uint32Array(size).fill(EMPTY)
    this.#mask = size - 1
    for (let record = 0; record < this.#count; record++) {
      const at = record * RECORD_BYTES
      this.#slots[this.#slotOf(records.subarray(at, at + HASH_BYTES))] = record
    }
  }
}
