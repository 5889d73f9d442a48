/**
 * EXPUNGE removes the messages marked \Deleted; UID EXPUNGE only those of them that the set names. The untagged
 * EXPUNGE responses are the session's ordinary news, sent before the tagged reply.
 *
 * State: selected, read-write.
 * Command: RFC 3501 §6.4.3, RFC 9051 §6.4.3; RFC 4315 §2.1 (UID EXPUNGE). Response: RFC 3501 §7.4.1.
 */
import { SELECTED } from '../states.js'
import { uidsOf } from '../message-set.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { SequenceSet } from '../../protocol/values/sequence-set.js' */

/** @type {Command} */
export const expunge = {
  name: 'EXPUNGE',
  states: SELECTED,
  allowsExpunge: true,
  async run(session) {
    const { view } = session.requireWritable()
    await session.store.expunge({ view, uids: null, origin: session.origin })
    return { text: 'EXPUNGE completed' }
  }
}

/** @type {Command} */
export const uidExpunge = {
  name: 'UID EXPUNGE',
  states: SELECTED,
  allowsExpunge: true,
  async run(session, /** @type {{ set: SequenceSet }} */ { set }) {
    const selected = session.requireWritable()
    const { uids } = uidsOf(selected, set, true)
    if (uids.length > 0) {
      await session.store.expunge({ view: selected.view, uids, origin: session.origin })
    }
    return { text: 'UID EXPUNGE completed' }
  }
}
