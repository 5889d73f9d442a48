/**
 * The words of an address list between two separators: only what follows them tells whether they are a name or an
 * address.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 */

/** Pieces of a phrase: what was read, and whether white space or a comment stood before it. */
export class Words {
  /** Begins without any words. */
  constructor() {
    /** @type {{ text: ByteString, isAfterSpace: boolean, isQuoted: boolean }[]} */
    this.list = []
    this.isAfterSpace = false
  }

  /**
   * @param {ByteString} text
   * @param {boolean} isQuoted
   */
  add(text, isQuoted) {
    this.list.push({ text, isAfterSpace: this.isAfterSpace, isQuoted })
    this.isAfterSpace = false
  }

  /**
   * @param {number} [from]
   * @param {number} [to]
   * @returns {ByteString} with one space wherever there was white space
   */
  join(from = 0, to = this.list.length) {
    let joined = ''
    for (let index = from; index < to; index++) {
      const word = this.list[index]
      if (word) joined += word.isAfterSpace && joined !== '' ? ` ${word.text}` : word.text
    }
    return joined
  }

  /**
   * Finds the beginning of the local part that these words end with: RFC 5322 §4.4 allows white space around its dots, so words
   * belong together unless they are parted by space with no dot on either side.
   * @returns {number} index of its first word
   */
  localPartStart() {
    let index = this.list.length - 1
    while (index > 0) {
      const word = this.list[index]
      const before = this.list[index - 1]
      if (word?.isAfterSpace && !word.text.startsWith('.') && !before?.text.endsWith('.')) break
      index--
    }
    return Math.max(index, 0)
  }

  /**
   * @param {number} from
   * @returns {ByteString} without the white space between
   */
  concat(from) {
    let text = ''
    for (let index = from; index < this.list.length; index++) text += this.list[index]?.text ?? ''
    return text
  }
}
