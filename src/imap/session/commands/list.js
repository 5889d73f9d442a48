/**
 * LIST names the mailboxes that match, with their attributes. Clients that know SPECIAL-USE ask with RETURN options;
 * those are answered whether or not the extended form is advertised.
 *
 * State: authenticated, selected.
 * Command: RFC 3501 §6.3.8, RFC 9051 §6.3.9; RFC 5258 §3 (options), RFC 6154 §2 (SPECIAL-USE), RFC 5819 §2 (STATUS),
 * RFC 3348 §3 (CHILDREN). Response: RFC 3501 §7.2.2.
 */
import { compileList } from '../../protocol/compile/list.js'
import { compileListPattern } from '../list-pattern.js'
import { buildMailboxTree } from '../mailbox-tree.js'
import { AUTHENTICATED } from '../states.js'
import { writeStatus } from './status.js'

/** @import { ListEntry } from '../../protocol/compile/list.js' */
/** @import { Command } from '../dispatcher.js' */
/** @import { MailboxNode } from '../mailbox-tree.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['LIST']} ListArgs */

/** @type {Command} */
export const list = {
  name: 'LIST',
  states: AUTHENTICATED,
  allowsExpunge: true,
  asksForNames: true,
  async run(session, /** @type {ListArgs} */ args) {
    const { reference, patterns, isExtended } = args
    if (!isExtended && patterns.length === 1 && patterns[0] === '') {
      // An empty name asks for the separator and the root of the reference (RFC 3501 §6.3.8).
      writeEntry(session, { name: '', attributes: ['\\Noselect'] })
      return { text: 'LIST completed' }
    }
    const rows = await session.store.listMailboxes()
    const subscriptions = await session.store.listSubscriptions()
    const nodes = buildMailboxTree({ rows, subscriptions })
    const tests = patterns.map((pattern) => compileListPattern(reference + pattern))
    for (const node of nodes) {
      if (tests.some((test) => test(node.name))) await writeNode(session, node, args)
    }
    return { text: 'LIST completed' }
  }
}

/**
 * @param {Session} session
 * @param {MailboxNode} node
 * @param {ListArgs} args
 */
async function writeNode(session, node, args) {
  const { selection, statusItems } = args
  const isRecursive = selection.includes('RECURSIVEMATCH')
  const isBySubscription = selection.includes('SUBSCRIBED')
  const isMatch = isBySubscription ? node.isSubscribed : node.row !== null || node.hasChildren
  const hasMatchBelow = isBySubscription && isRecursive && node.hasSubscribedChildren
  if (!isMatch && !hasMatchBelow) return
  if (selection.includes('SPECIAL-USE') && node.row?.specialUse == null) return
  const childInfo = hasMatchBelow ? ['SUBSCRIBED'] : []
  writeEntry(session, { name: node.name, attributes: attributesOf(node, args), childInfo })
  if (statusItems !== null && node.row !== null) {
    await writeStatus(session, node.name, statusItems)
  }
}

/**
 * @param {MailboxNode} node
 * @param {ListArgs} args
 * @returns {string[]}
 */
function attributesOf(node, { selection, returns, isExtended }) {
  const attributes = []
  if (node.row === null) attributes.push(isExtended ? '\\NonExistent' : '\\Noselect')
  if (isExtended && node.row === null) attributes.push('\\Noselect')
  attributes.push(node.hasChildren ? '\\HasChildren' : '\\HasNoChildren')
  if (node.row?.specialUse != null) attributes.push(node.row.specialUse)
  const tellsSubscribed = selection.includes('SUBSCRIBED') || returns.includes('SUBSCRIBED')
  if (tellsSubscribed && node.isSubscribed) attributes.push('\\Subscribed')
  return attributes
}

/**
 * @param {Session} session
 * @param {ListEntry} entry
 */
function writeEntry(session, entry) {
  session.write(compileList(entry, { isUtf8: session.isUtf8 }))
}
