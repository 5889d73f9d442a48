/**
 * Which mailboxes an extended LIST names, RFC 5258 §3.1 and §3.5: those that match a pattern and meet all selection
 * options, and with RECURSIVEMATCH also those above one that meets them but matches no pattern itself.
 */
import { parentsOf } from './mailbox-tree.js'

/** @import { MailboxNode } from './mailbox-tree.js' */

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
 * Without any of those: a mailbox, or a level above one (RFC 3501 §6.3.8).
 *
 * @param {MailboxNode} node
 * @returns {boolean}
 */
const isThere = ({ row, hasChildren }) => row !== null || hasChildren

/**
 * @param {readonly MailboxNode[]} nodes - as `buildMailboxTree` gives them
 * @param {object} options
 * @param {readonly string[]} options.selection - as LIST was given; REMOTE adds none, there are no remote mailboxes
 * @param {(name: string) => boolean} options.isMatch - whether one of the patterns matches
 * @returns {ListedNode[]} in the order of the nodes
 */
export function selectNodes(nodes, { selection, isMatch }) {
  const options = selection.filter((option) => Object.hasOwn(CRITERIA, option))
  const criteria = options.map((option) => CRITERIA[option] ?? isThere)
  if (criteria.length === 0) criteria.push(isThere)
  const isSelected = (/** @type {MailboxNode} */ node) => criteria.every((meets) => meets(node))
  const matching = new Set(nodes.filter(({ name }) => isMatch(name)))
  /** @type {Set<string>} */
  const parents = new Set()
  if (selection.includes('RECURSIVEMATCH')) {
    for (const node of nodes) {
      if (matching.has(node) || !isSelected(node)) continue
      for (const parent of parentsOf(node.name)) parents.add(parent)
    }
  }
  return [...matching]
    .map((node) => ({
      node,
      isSelected: isSelected(node),
      childInfo: parents.has(node.name) ? options : []
    }))
    .filter(({ isSelected, childInfo }) => isSelected || childInfo.length > 0)
}
