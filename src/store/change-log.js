/**
 * What has happened to a view, kept until everybody who follows it has taken it.
 *
 * Whoever has not looked for a while need know which messages have other flags and by whose doing, not how often: of many
 * such records between the places of two readers one for each origin is kept. Among which other records they stood does
 * not matter to a reader, who takes all of them at once.
 */

/**
 * @typedef {import('./mailbox-view.js').ChangeRecord} ChangeRecord
 * @typedef {import('./mailbox-view.js').FlagsRecord} FlagsRecord
 *
 * @typedef {object} LogReader
 * @property {number} next - number of the record that it takes next; the log's own business
 */

/** Slots in records of flags, half a megabyte of memory, above which there are made fewer of them. */
const MANY_FLAG_SLOTS = 65_536

/** Of one view. */
export class ChangeLog {
  /** @type {ChangeRecord[]} */
  #records = []
  /** Number of #records[0], counted since the view was loaded. */
  #first = 0
  /** @type {Set<LogReader>} */
  #readers = new Set()
  /** In records of flags, all together. */
  #flagSlots = 0
  #maxFlagSlots = MANY_FLAG_SLOTS

  /** @param {LogReader} reader - of what is pushed from now on */
  join(reader) {
    reader.next = this.#end
    this.#readers.add(reader)
  }

  /** @param {LogReader} reader */
  leave(reader) {
    this.#readers.delete(reader)
    this.#trim()
  }

  /** @param {readonly ChangeRecord[]} records */
  push(records) {
    if (this.#readers.size === 0) {
      this.#first += records.length
      return
    }
    this.#records.push(...records)
    this.#flagSlots += flagSlotsIn(records)
    if (this.#flagSlots > this.#maxFlagSlots) this.#merge()
  }

  /**
   * @param {LogReader} reader
   * @returns {boolean} whether `take` has something to give
   */
  hasNewsFor(reader) {
    return reader.next < this.#end
  }

  /**
   * @param {LogReader} reader
   * @returns {ChangeRecord[]} everything since its last take
   */
  take(reader) {
    const records = this.#records.slice(reader.next - this.#first)
    reader.next = this.#end
    this.#trim()
    return records
  }

  get #end() {
    return this.#first + this.#records.length
  }

  /** Drops what everybody has taken. */
  #trim() {
    let oldest = this.#end
    for (const { next } of this.#readers) oldest = Math.min(oldest, next)
    const gone = this.#records.splice(0, oldest - this.#first)
    this.#flagSlots -= flagSlotsIn(gone)
    this.#first = oldest
  }

  #merge() {
    const starts = [...new Set([...this.#readers].map(({ next }) => next))].sort((a, b) => a - b)
    /** @type {ChangeRecord[]} */
    const kept = []
    /** @type {Map<number, number>} */
    const places = new Map()
    for (const [index, start] of starts.entries()) {
      places.set(start, this.#first + kept.length)
      const end = starts[index + 1] ?? this.#end
      // One by one: there may be more than a call takes arguments.
      for (const record of merged(this.#records.slice(start - this.#first, end - this.#first)))
        kept.push(record)
    }
    for (const reader of this.#readers)
      reader.next = /** @type {number} */ (places.get(reader.next))
    this.#records = kept
    this.#flagSlots = flagSlotsIn(kept)
    // Where there are no fewer, they are not gone through again with each change.
    this.#maxFlagSlots = Math.max(MANY_FLAG_SLOTS, 2 * this.#flagSlots)
  }
}

/**
 * @param {readonly ChangeRecord[]} records
 * @returns {number} slots in those of flags
 */
function flagSlotsIn(records) {
  let count = 0
  for (const record of records) if (record.kind === 'flags') count += record.slots.length
  return count
}

/**
 * @param {readonly ChangeRecord[]} records
 * @returns {ChangeRecord[]} those that are not of flags, and one of flags for each origin
 */
function merged(records) {
  const others = records.filter(({ kind }) => kind !== 'flags')
  const ofFlags = records.filter((record) => record.kind === 'flags')
  const merging = [...Map.groupBy(ofFlags, ({ origin }) => origin)].map(([origin, own]) => {
    const [only, ...more] = own
    if (only && more.length === 0) return only
    return /** @type {FlagsRecord} */ ({ kind: 'flags', slots: slotsOf(own), origin })
  })
  return [...others, ...merging]
}

/**
 * @param {readonly FlagsRecord[]} records
 * @returns {number[]} each slot once, ascending
 */
function slotsOf(records) {
  const last = records.reduce((most, { slots }) => Math.max(most, slots.at(-1) ?? 0), 0)
  const isNamed = new Uint8Array(last + 1)
  for (const { slots } of records)
    for (let index = 0; index < slots.length; index++)
      isNamed[/** @type {number} */ (slots[index])] = 1
  const named = []
  for (let slot = 0; slot <= last; slot++) if (isNamed[slot] === 1) named.push(slot)
  return named
}
