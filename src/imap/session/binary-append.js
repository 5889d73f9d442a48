/**
 * Messages that an APPEND brings in a literal8 with NUL in them. The parts that hold the NULs are stored in base64, which
 * RFC 3516 §4.4 leaves to the server and §6 asks for: BODY and BODYSTRUCTURE know no NUL. BINARY gives the parts as the
 * client sent them. Messages without NUL stay as they are.
 */
import { planRewriting, rewritten } from '../../mime/binary-to-base64.js'
import { decodePartTree } from '../../mime/part-tree.js'

/** @import { PartNode } from '../../mime/part-tree.js' */
/** @import { ContentWriter } from '../../store/content-writer.js' */
/** @import { StagedContent } from '../../store/staged-content.js' */
/** @import { AccountStore } from '../../store/account-store.js' */

/** Base64 with its line ends takes 78 bytes for 57. */
const BASE64_GROWTH = 78 / 57

/**
 * @param {AccountStore} store
 * @param {ContentWriter} writer - that has finished
 * @param {StagedContent} content - of it
 * @param {(writer: ContentWriter) => void} onWriter - told of the writer of the second form, to abort it some day
 * @returns {Promise<StagedContent>} the content to append
 * @throws {import('../../errors.js').MailError} what a ContentWriter throws
 */
export async function showableContent(store, writer, content, onWriter) {
  const tree = decodePartTree(content.meta.partTree)
  const nodes = await nodesWithNul(tree, writer.read())
  const plan = planRewriting(tree, (node) => nodes.has(node))
  if (plan.length === 0) return content
  const second = await store.stageContent({
    sizeHint: Math.ceil(content.size * BASE64_GROWTH),
    // The limit that the client knows (RFC 7889) was applied to its form of the message; this form is the server's choice.
    isSizeExempt: true
  })
  onWriter(second)
  for await (const piece of rewritten(writer.read(), plan)) await second.write(piece)
  return await second.finish()
}

/**
 * @param {PartNode} tree
 * @param {AsyncIterable<Buffer>} pieces - the message
 * @returns {Promise<Set<PartNode>>} the parts whose bodies hold a NUL
 */
async function nodesWithNul(tree, pieces) {
  /** @type {Set<PartNode>} */
  const marked = new Set()
  const open = [...allNodes(tree)]
  let at = 0
  for await (const piece of pieces) {
    if (piece.includes(0)) {
      for (const node of open) {
        const start = Math.max(0, node.headerEnd - at)
        const end = Math.max(start, node.bodyEnd - at)
        if (!marked.has(node) && piece.subarray(start, end).includes(0)) marked.add(node)
      }
    }
    at += piece.length
  }
  return marked
}

/**
 * @param {PartNode} node
 * @returns {Generator<PartNode>}
 */
function* allNodes(node) {
  yield node
  for (const child of node.children) yield* allNodes(child)
}
