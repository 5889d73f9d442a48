/**
 * The tokens that the receiver makes of a command's lines. `gap` is the number of spaces before the token: 0
 * means that it touches the one before it, which only a FETCH section may do.
 */

/**
 * @typedef {object} StringToken - a quoted string or a buffered literal
 * @property {'string'} type
 * @property {Buffer} bytes - the content, unescaped
 * @property {'quoted' | 'literal' | 'literal8'} form
 * @property {number} gap
 */

/**
 * @typedef {object} ListToken - a parenthesised list
 * @property {'list'} type
 * @property {Token[]} items
 * @property {number} gap
 */

/**
 * @typedef {object} StreamedToken - the place of a message literal whose bytes have gone by
 * @property {'streamed'} type
 * @property {number} size - bytes
 * @property {boolean} isLiteral8
 * @property {number} gap
 */

/** @typedef {AtomToken | StringToken | ListToken | StreamedToken} Token */

/**
 * @typedef {object} RawCommand
 * @property {string} tag
 * @property {string} name - upper case; two words for UID commands: `UID FETCH`
 * @property {Token[]} tokens - the arguments
 */

/** A bare word. It is decoded only when its text is asked for, so that a password in an atom need never become a string. */
export class AtomToken {
  /** @type {'atom'} */
  type = 'atom'

  /**
   * @param {Buffer} source - the line
   * @param {number} start
   * @param {number} end
   * @param {number} gap
   */
  constructor(source, start, end, gap) {
    this.source = source
    this.start = start
    this.end = end
    this.gap = gap
  }

  /** @returns {string} one character for each byte */
  get text() {
    return this.source.toString('latin1', this.start, this.end)
  }

  /** @returns {Buffer} a view */
  get bytes() {
    return this.source.subarray(this.start, this.end)
  }
}
