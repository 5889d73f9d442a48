/**
 * Keeps what was made of texts that come again and again. Once there are too many, all are forgotten: those in use are soon
 * back, and a client that always sends new texts costs no more than that.
 */

const MAX_TEXTS = 256
/** Texts of more characters are not kept. */
const MAX_LENGTH = 512

/** @template Value - not to be changed by those who get it */
export class BoundedMemo {
  /** @type {Map<string, Value>} */
  #values = new Map()

  /**
   * @param {string} text
   * @param {() => Value} make - called where it is not known; what it throws is thrown
   * @returns {Value}
   */
  get(text, make) {
    const known = this.#values.get(text)
    if (known !== undefined) return known
    const value = make()
    if (text.length > MAX_LENGTH) return value
    if (this.#values.size >= MAX_TEXTS) this.#values.clear()
    this.#values.set(text, value)
    return value
  }
}
