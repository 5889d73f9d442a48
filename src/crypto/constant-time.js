/**
 * Comparison whose time depends on the lengths alone.
 */
import { timingSafeEqual } from 'node:crypto'

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 * @returns {boolean} false at once where the lengths differ: lengths here are public
 */
export function equalInConstantTime(left, right) {
  return left.length === right.length && timingSafeEqual(left, right)
}
