/**
 * Which mailboxes an extended LIST names, RFC 5258 §3.1 and §3.5: those that match a pattern and meet all selection
 * options, and with RECURSIVEMATCH also those above one that meets them but matches no pattern itself. Whatever is named
 * tells whether one below it meets them, named or not.
 */
import { parentsOf } from './mailbox-tree.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { NameTest } from './list-pattern.js' */
/** @import { MailboxNode } from './mailbox-tree.js' */

/** So many names and patterns are compared between two looks at the clock: each comparison may take ten microseconds and more. */
const STEP_TESTS = 32

/**
 * @typedef {object} ListedNode
 * @property {MailboxNode} node
 * @property {boolean} isSelected - false where it is named for the sake of those below it alone
 * @property {readonly string[]} childInfo - options that some mailbox below it meets, RFC 5258 §3.5
 */

/** @type {Readonly<Record<string, (node: MailboxNode) => boolean>>} */
const CRITERIA = {
  SUBSCRIBED: ({ isSubscribed }) => isSubscribed,
  'SPECIAL-USE': ({ row }) => row !== null && row.specialUse !== null
}

/**
 * The criterion without any selection option: a mailbox, or a level above one (RFC 3501 §6.3.8).
 *
 * @param {MailboxNode} node
 * @returns {boolean}
 */
const isThere = ({ row, hasChildren }) => row !== null || hasChildren

/**
 * @param {readonly MailboxNode[]} nodes - as `buildMailboxTree` gives them
 * @param {object} options
 * @param {readonly string[]} options.selection - as LIST was given; REMOTE adds none, there are no remote mailboxes
 * @param {readonly NameTest[]} options.tests - one of which must match
 * @param {Slicer} options.slicer
 * @returns {Promise<ListedNode[]>} in the order of the nodes
 */
export async function selectNodes(nodes, { selection, tests, slicer }) {
  const options = selection.filter((option) => Object.hasOwn(CRITERIA, option))
  const criteria = options.map((option) => CRITERIA[option] ?? isThere)
  if (criteria.length === 0) criteria.push(isThere)
  const isSelected = (/** @type {MailboxNode} */ node) => criteria.every((meets) => meets(node))
  const matching = await matchingNodes(nodes, tests, slicer)
  /**
   * Names above those that meet the criteria: whether one of these is not listed itself.
   *
   * @type {Map<string, boolean>}
   */
  const parents = new Map()
  if (selection.includes('RECURSIVEMATCH')) {
    for (const node of nodes) {
      await slicer.breathe()
      if (!isSelected(node)) continue
      const isUnlisted = !matching.has(node)
      for (const parent of parentsOf(node.name))
        parents.set(parent, isUnlisted || parents.get(parent) === true)
    }
  }
  return [...matching]
    .filter((node) => isSelected(node) || parents.get(node.name) === true)
    .map((node) => ({
      node,
      isSelected: isSelected(node),
      childInfo: parents.has(node.name) ? options : []
    }))
}

/**
 * @param {readonly MailboxNode[]} nodes
 * @param {readonly NameTest[]} tests
 * @param {Slicer} slicer
 * @returns {Promise<Set<MailboxNode>>} those whose names one of the tests takes, in their order
 */
async function matchingNodes(nodes, tests, slicer) {
  /** @type {Set<MailboxNode>} */
  const matching = new Set()
  let count = 0
  for (const node of nodes) {
    for (const test of tests) {
      if (count++ % STEP_TESTS === 0) await slicer.breathe()
      if (!test(node.name)) continue
      matching.add(node)
      break
    }
  }
  return matching
}
