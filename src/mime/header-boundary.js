/**
 * Finds the boundary of a multipart while its header is still coming: where the blank line is missing, or has a space in it,
 * a delimiter stands among the fields.
 *
 * Time is linear: no line is looked at twice, and one Content-Type is taken apart.
 */
import { parseContentType } from './content-type.js'
import { firstFieldAt, scanHeader } from './header.js'
import { MAX_STRUCTURE_FIELD_BYTES } from './limits.js'
import { boundaryIn } from './part.js'

const NAME = 'content-type'

/** Finds the boundary of one header block after the other. */
export class HeaderBoundary {
  /** Bytes of the block that were looked at. */
  #seen = 0
  /**
   * Null: the block has no boundary and will have none; undefined: not known yet.
   * @type {string | null | undefined}
   */
  #boundary

  /** To be called when another block begins. */
  reset() {
    this.#seen = 0
    this.#boundary = undefined
  }

  /**
   * @param {Buffer} block - the whole lines that have come of the block, those of the last call included
   * @returns {string | null} byte string; null unless the block's Content-Type is that of a multipart with a boundary
   */
  find(block) {
    if (this.#boundary === undefined && this.#seen < block.length) {
      const lines = block.subarray(this.#seen)
      const from = this.#seen === 0 ? firstFieldAt(lines) : 0
      this.#seen = block.length
      const visit = this.#field.bind(this, lines)
      // Lines behind a blank one are not read as fields, whatever the line ends are.
      if (scanHeader(lines, visit, from) < lines.length) this.#boundary ??= null
    }
    return this.#boundary ?? null
  }

  /**
   * @param {Buffer} lines
   * @param {number} start
   * @param {number} nameEnd
   * @param {number} valueStart
   * @param {number} end
   */
  #field(lines, start, nameEnd, valueStart, end) {
    if (this.#boundary !== undefined || nameEnd - start !== NAME.length) return
    if (lines.toString('latin1', start, nameEnd).toLowerCase() !== NAME) return
    const valueEnd = Math.min(end, valueStart + MAX_STRUCTURE_FIELD_BYTES)
    const media = parseContentType(lines.toString('latin1', valueStart, valueEnd))
    this.#boundary = media?.type.toLowerCase() === 'multipart' ? boundaryIn(media.params) : null
  }
}
