/**
 * How one leaf of a plan is decided for a message, by what has been read of it.
 */
import { compileHeaderKey } from './match-text.js'
import { STAGE } from './plan.js'
import { compileRowKey } from './row-keys.js'

/** @typedef {import('./candidate-reader.js').Candidate} Candidate */
/** @typedef {import('./plan.js').LeafNode} LeafNode */
/** @typedef {import('./plan.js').Verdict} Verdict */

/**
 * @param {LeafNode} leaf
 * @param {object} known
 * @param {number} known.nowSeconds - YOUNGER and OLDER count from it
 * @param {(leaf: LeafNode, index: number) => boolean} known.viewVerdict - of a leaf of the view's stage
 * @param {import('./match-text.js').TextHits} known.hits - of the message whose text is read
 * @returns {(candidate: Candidate) => Verdict} before the leaf's negation
 */
export function compileLeaf(leaf, { nowSeconds, viewVerdict, hits }) {
  const { key, stage } = leaf
  if (stage === STAGE.VIEW) return ({ index }) => viewVerdict(leaf, index)
  if (stage === STAGE.ROW) {
    const test = compileRowKey(key, nowSeconds)
    return ({ record }) => (record ? test(record) : undefined)
  }
  if (key.op === 'header') {
    const test = compileHeaderKey(key)
    return ({ header }) => (header ? test(header) : undefined)
  }
  return () => hits.verdict(leaf)
}
