/**
 * The tree of a message that was just parsed, as it comes back from where it is stored.
 */
import { decodePartTree, encodePartTree } from '../../src/mime/part-tree.js'

/**
 * @param {import('../../src/mime/part.js').Part} part
 * @returns {import('../../src/mime/part-tree.js').PartTree}
 */
export const toPartTree = (part) => decodePartTree(encodePartTree(part))
