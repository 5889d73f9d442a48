/**
 * Whether messages are read as one range, with those that lie between, or each by itself.
 */

/** A range is read in a fraction of the time that as many single rows take: it may hold so many for each that is wanted. */
const RANGE_FACTOR = 2

/**
 * @param {Pick<import('./mailbox-view.js').MailboxView, 'uids'>} view
 * @param {readonly number[]} slots - ascending, not empty
 * @returns {boolean} whether they lie close together
 */
export function areClose({ uids }, slots) {
  const uidOf = (/** @type {number | undefined} */ slot) => uids[slot ?? 0] ?? 0
  return uidOf(slots.at(-1)) - uidOf(slots[0]) < RANGE_FACTOR * slots.length
}
