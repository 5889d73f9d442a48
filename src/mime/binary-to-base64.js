/**
 * Turns parts of a message that hold NUL into base64: RFC 3516 §4.4 and §6. IMAP's BODY cannot show a NUL, so such a
 * message is stored in a form that BODY can show; BINARY gives the parts back byte for byte.
 *
 * Only parts with a NUL are changed, in their Content-Transfer-Encoding and body, and parts around them no longer say
 * that they are binary. All other bytes stay.
 *
 * @typedef {import('./part-tree.js').PartNode} PartNode
 * @typedef {import('./part-tree.js').PartTree} PartTree
 *
 * @typedef {object} Rewriting - of one range of the message; ranges are ascending and apart
 * @property {number} start
 * @property {number} end
 * @property {'header' | 'body'} kind
 * @property {'base64' | '8bit'} encoding - that a header is to name
 */
import { firstFieldAt, scanHeader } from './header.js'
import { MAX_HEADER_BLOCK_BYTES } from './limits.js'

/** Base64 lines hold 57 bytes in 76 characters, RFC 2045 §6.8. */
const LINE_BYTES = 57

const BLANK_LINE = Buffer.from('\r\n')

const PLAIN_ENCODINGS = new Set(['7bit', '8bit', 'binary'])

/**
 * @param {PartTree} tree
 * @param {(node: PartNode) => boolean} hasNul - whether the part's body holds a NUL
 * @returns {Rewriting[]} what must be changed; empty when no part can be shown better
 */
export function planRewriting(tree, hasNul) {
  /** @type {Rewriting[]} */
  const plan = []
  rewriteNode(tree, hasNul, plan)
  return plan
}

/**
 * @param {PartNode} node
 * @param {(node: PartNode) => boolean} hasNul
 * @param {Rewriting[]} plan
 * @returns {boolean} whether something in it is changed
 */
function rewriteNode(node, hasNul, plan) {
  const { headerStart, headerEnd, bodyEnd, children, encoding } = node
  const header = { start: headerStart, end: headerEnd, kind: /** @type {const} */ ('header') }
  const headerBytes = headerEnd - headerStart
  // A part without a header is the whole body of a multipart without delimiters: a header put before it would become its
  // text. A header that is too long was not read to its end, and putting it together here would take seconds.
  if (headerBytes === 0 || headerBytes > MAX_HEADER_BLOCK_BYTES) return false
  if (!hasNul(node) || !PLAIN_ENCODINGS.has(encoding)) return false
  if (children.length === 0) {
    plan.push({ ...header, encoding: 'base64' })
    plan.push({ start: headerEnd, end: bodyEnd, kind: 'body', encoding: 'base64' })
    return true
  }
  const place = plan.length
  let isChanged = false
  for (const child of children) if (rewriteNode(child, hasNul, plan)) isChanged = true
  if (isChanged && encoding === 'binary') plan.splice(place, 0, { ...header, encoding: '8bit' })
  return isChanged
}

/**
 * @param {Buffer} block - a header block with its blank line
 * @param {string} encoding
 * @returns {Buffer} the block, with this Content-Transfer-Encoding as its only one
 */
function withTransferEncoding(block, encoding) {
  let end = firstFieldAt(block)
  const kept = [block.subarray(0, end)]
  scanHeader(block, (start, nameEnd, _, lineEnd) => {
    const name = nameEnd === -1 ? '' : block.toString('latin1', start, nameEnd).toLowerCase()
    if (name !== 'content-transfer-encoding') kept.push(block.subarray(start, lineEnd))
    end = lineEnd
  })
  const field = Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n`)
  const blankLine = end < block.length ? block.subarray(end) : BLANK_LINE
  return Buffer.concat([...kept, field, blankLine])
}

/**
 * @param {AsyncIterable<Buffer>} pieces - the message
 * @param {readonly Rewriting[]} plan - of `planRewriting`
 * @returns {AsyncGenerator<Buffer, void>} the message as it is to be stored
 */
export async function* rewritten(pieces, plan) {
  let at = 0
  let index = 0
  /**
   * The held bytes of the range in work: a header block, or the beginning of a base64 line.
   *
   * @type {Buffer}
   */
  let held = Buffer.alloc(0)
  for await (const piece of pieces) {
    let offset = 0
    while (offset < piece.length) {
      const next = plan[index]
      if (next === undefined || at < next.start) {
        const length = Math.min(piece.length - offset, (next?.start ?? Infinity) - at)
        yield piece.subarray(offset, offset + length)
        offset += length
        at += length
        continue
      }
      const length = Math.min(piece.length - offset, next.end - at)
      held = Buffer.concat([held, piece.subarray(offset, offset + length)])
      offset += length
      at += length
      const isOver = at === next.end
      if (isOver || next.kind === 'body') {
        const take = isOver ? held.length : held.length - (held.length % LINE_BYTES)
        const bytes = held.subarray(0, take)
        yield next.kind === 'body' ? linesOf(bytes) : withTransferEncoding(bytes, next.encoding)
        held = held.subarray(take)
      }
      if (isOver) index++
    }
  }
}

/**
 * @param {Buffer} bytes
 * @returns {Buffer}
 */
function linesOf(bytes) {
  return Buffer.from(bytes.toString('base64').replace(/.{1,76}/g, '$&\r\n'))
}
