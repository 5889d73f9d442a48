/**
 * Flags as they stand in responses, kept by the two words that they are of (flags.js).
 */

/** Before the cache starts anew: more combinations than any mailbox was seen to have. */
const MAX_WIRES = 4096

/**
 * Of all accounts, so that the same text is the same string: whoever looks it up in a map need not compare it.
 *
 * @type {Map<string, string>}
 */
const texts = new Map()

/** Of one account. */
export class FlagWires {
  /** @type {Map<number, Map<number, string>>} */
  #byFlags = new Map()
  #count = 0

  /**
   * @param {number} flags
   * @param {number} keywords
   * @returns {string | undefined}
   */
  get(flags, keywords) {
    return this.#byFlags.get(flags)?.get(keywords)
  }

  /**
   * @param {number} flags
   * @param {number} keywords
   * @param {string} text
   * @returns {string} the same text, and from now on what `get` answers
   */
  add(flags, keywords, text) {
    if (this.#count >= MAX_WIRES) this.clear()
    let byKeywords = this.#byFlags.get(flags)
    if (!byKeywords) this.#byFlags.set(flags, (byKeywords = new Map()))
    const wire = shared(text)
    byKeywords.set(keywords, wire)
    this.#count++
    return wire
  }

  /** Forgets all. */
  clear() {
    this.#byFlags.clear()
    this.#count = 0
  }
}

/**
 * @param {string} text
 * @returns {string} the first string with this text
 */
function shared(text) {
  const known = texts.get(text)
  if (known !== undefined) return known
  if (texts.size >= MAX_WIRES) texts.clear()
  texts.set(text, text)
  return text
}
