/**
 * LSUB names the subscribed mailboxes that match. With `%`, a level above a subscribed mailbox that is not subscribed
 * itself is told as \Noselect, although it may well be a mailbox (RFC 3501 §6.3.9).
 *
 * State: authenticated, selected.
 * Command: RFC 3501 §6.3.9. Response: RFC 3501 §7.2.3.
 */
import { Slicer } from '../../../support/slicer.js'
import { compileList } from '../../protocol/compile/list.js'
import { compileListPattern } from '../list-pattern.js'
import { buildMailboxTree } from '../mailbox-tree.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @type {Command} */
export const lsub = {
  name: 'LSUB',
  states: AUTHENTICATED,
  allowsExpunge: true,
  asksForNames: true,
  async run(session, /** @type {{ reference: string, pattern: string }} */ { reference, pattern }) {
    if (pattern === '') {
      writeEntry(session, '', ['\\Noselect'])
      return { text: 'LSUB completed' }
    }
    const subscriptions = await session.store.listSubscriptions()
    // A client that goes away ends its LSUB.
    const slicer = new Slicer(session.connection.closeSignal)
    const tellsLevels = pattern.endsWith('%')
    const nodes = await buildMailboxTree({
      rows: [],
      subscriptions,
      withLevels: tellsLevels,
      slicer
    })
    const isMatch = compileListPattern(reference + pattern)
    for (const node of nodes) {
      await slicer.breathe()
      if (!isMatch(node.name)) continue
      if (node.isSubscribed) writeEntry(session, node.name, [])
      else if (node.hasSubscribedChildren) {
        writeEntry(session, node.name, ['\\Noselect'])
      }
      if (session.connection.isCongested) await session.connection.drain()
    }
    return { text: 'LSUB completed' }
  }
}

/**
 * @param {Session} session
 * @param {string} name
 * @param {readonly string[]} attributes
 */
function writeEntry(session, name, attributes) {
  session.write(
    compileList({ name, attributes }, { isUtf8: session.enabled.isUtf8, response: 'LSUB' })
  )
}
