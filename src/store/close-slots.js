/**
 * Whether messages are read as one range, with those that lie between, or each by itself.
 */

/** A range is read in a fraction of the time that as many single rows take: it may hold so many for each that is wanted. */
const RANGE_FACTOR = 2

/**
 * @param {Pick<import('./mailbox-view.js').MailboxView, 'uids'>} view
 * @param {readonly number[]} slots - ascending, not empty
 * @returns {boolean} whether they lie close together: their UIDs do, or no other message of the mailbox lies between them, as
 *   where most of its mail has been deleted
 */
export function areClose({ uids }, slots) {
  const [first = 0, last = 0] = [slots[0], slots.at(-1)]
  const span = (uids[last] ?? 0) - (uids[first] ?? 0)
  return last - first < slots.length || span < RANGE_FACTOR * slots.length
}
