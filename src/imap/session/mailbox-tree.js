/**
 * The names that LIST tells, from the rows of the store: also the levels above a mailbox that are no mailboxes, and
 * names that are subscribed but not there.
 */

import { MailError } from '../../errors.js'
import { sortInSlices } from '../../store/sort/sliced-sort.js'

/** @import { MailboxRow } from '../../store/mailbox-rows.js' */
/** @import { Slicer } from '../../support/slicer.js' */

/** So many names are read between two looks at the clock: each may have forty levels. */
const STEP_NAMES = 32

/**
 * One answer has at most so many names and levels: many times as many as accounts have. Forty thousand subscriptions of forty
 * levels would be half a gigabyte.
 */
const MAX_NODES = 200_000

/**
 * @typedef {object} MailboxNode
 * @property {string} name
 * @property {MailboxRow | null} row - null where there is no such mailbox
 * @property {boolean} hasChildren - mailboxes below it
 * @property {boolean} isSubscribed
 * @property {boolean} hasSubscribedChildren
 */

/**
 * @param {object} options
 * @param {readonly MailboxRow[]} options.rows
 * @param {readonly string[]} options.subscriptions
 * @param {boolean} options.withLevels - whether the levels above subscribed names are wanted too, `hasSubscribedChildren`
 *   with them
 * @param {Slicer} options.slicer
 * @returns {Promise<MailboxNode[]>} sorted by name, INBOX first; levels above mailboxes included
 * @throws {MailError} LIMIT when they are too many
 */
export async function buildMailboxTree({ rows, subscriptions, withLevels, slicer }) {
  /** @type {Map<string, MailboxNode>} */
  const nodes = new Map()
  /** @param {string} name */
  const nodeOf = (name) => {
    const known = nodes.get(name)
    if (known !== undefined) return known
    if (nodes.size >= MAX_NODES) throw new MailError('LIMIT', { detail: 'levels of mailbox names' })
    const node = {
      name,
      row: null,
      hasChildren: false,
      isSubscribed: false,
      hasSubscribedChildren: false
    }
    nodes.set(name, node)
    return node
  }
  for (const [index, row] of rows.entries()) {
    if (index % STEP_NAMES === 0) await slicer.breathe()
    nodeOf(row.name).row = row
    for (const parent of parentsOf(row.name)) nodeOf(parent).hasChildren = true
  }
  for (const [index, name] of subscriptions.entries()) {
    if (index % STEP_NAMES === 0) await slicer.breathe()
    nodeOf(name).isSubscribed = true
    if (!withLevels) continue
    for (const parent of parentsOf(name)) nodeOf(parent).hasSubscribedChildren = true
  }
  const byName = (/** @type {MailboxNode} */ left, /** @type {MailboxNode} */ right) =>
    compareNames(left.name, right.name)
  return await sortInSlices([...nodes.values()], byName, slicer)
}

/**
 * @param {string} name
 * @returns {string[]} the names of the levels above
 */
export function parentsOf(name) {
  const parents = []
  for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
    if (at > 0) parents.push(name.slice(0, at))
  }
  return parents
}

/**
 * @param {string} left
 * @param {string} right
 * @returns {number}
 */
function compareNames(left, right) {
  if (left === right) return 0
  if (left === 'INBOX') return -1
  if (right === 'INBOX') return 1
  return left < right ? -1 : 1
}
