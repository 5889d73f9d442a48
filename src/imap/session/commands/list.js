/**
 * LIST names the mailboxes that match, with their attributes and, where that is asked for, the STATUS of each.
 *
 * State: authenticated, selected.
 * Command: RFC 3501 §6.3.8, RFC 9051 §6.3.9; RFC 5258 §3 (options), RFC 6154 §2 (SPECIAL-USE), RFC 5819 §2 (STATUS),
 * RFC 3348 §3 (CHILDREN). Response: RFC 3501 §7.2.2.
 */
import { isMailError } from '../../../errors.js'
import { Slicer } from '../../../support/slicer.js'
import { compileList } from '../../protocol/compile/list.js'
import { compileListPatterns } from '../list-pattern.js'
import { selectNodes } from '../list-selection.js'
import { attributesOf } from '../mailbox-line.js'
import { buildMailboxTree } from '../mailbox-tree.js'
import { AUTHENTICATED } from '../states.js'
import { writeStatus } from './status.js'

/** @import { ListEntry } from '../../protocol/compile/list.js' */
/** @import { Command } from '../dispatcher.js' */
/** @import { ListedNode } from '../list-selection.js' */
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
    // A client that goes away ends its LIST.
    const slicer = new Slicer(session.connection.closeSignal)
    const { selection } = args
    const withLevels = selection.includes('RECURSIVEMATCH')
    const nodes = await buildMailboxTree({ rows, subscriptions, withLevels, slicer })
    // An empty pattern is left out, whatever the reference (RFC 5258 §3). Where it is the only one, the reference is the name, as
    // with Dovecot: SnappyMail asks so for the mailbox that it has made, and its list of mailboxes breaks where none is named.
    const named = patterns.length === 1 ? patterns : patterns.filter((pattern) => pattern !== '')
    const tests = compileListPatterns(named.map((pattern) => reference + pattern))
    for (const listed of await selectNodes(nodes, { selection, tests, slicer })) {
      await writeNode(session, listed, args)
      await slicer.breathe()
    }
    return { text: 'LIST completed' }
  }
}

/**
 * @param {Session} session
 * @param {ListedNode} listed
 * @param {ListArgs} args
 */
async function writeNode(session, { node, isSelected, childInfo }, args) {
  const { selection, returns, statusItems, isExtended } = args
  const attributes = attributesOf(node, {
    knowsNonExistent: isExtended || session.enabled.isRev2,
    tellsSubscribed: selection.includes('SUBSCRIBED') || returns.includes('SUBSCRIBED')
  })
  writeEntry(session, { name: node.name, attributes, childInfo })
  if (statusItems !== null && isSelected && node.row !== null) {
    try {
      await writeStatus(session, node.row, statusItems)
    } catch (error) {
      // The mailbox was deleted meanwhile: RFC 5819 §2 lets its STATUS be missing.
      if (!isMailError(error, 'MAILBOX_NOT_FOUND')) throw error
    }
  }
  if (session.connection.isCongested) await session.connection.drain()
}

/**
 * @param {Session} session
 * @param {ListEntry} entry
 */
function writeEntry(session, entry) {
  session.write(compileList(entry, { isUtf8: session.enabled.isUtf8 }))
}
