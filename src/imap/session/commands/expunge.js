/**
 * EXPUNGE removes the messages marked \Deleted; UID EXPUNGE only those of them that the set names. The untagged
 * EXPUNGE responses are the session's ordinary news, sent before the tagged reply.
 *
 * State: selected, read-write.
 * Command: RFC 3501 §6.4.3, RFC 9051 §6.4.3; RFC 4315 §2.1 (UID EXPUNGE); RFC 7162 §3.2.7, §3.2.9
 * (QRESYNC). Responses: RFC 3501 §7.4.1, RFC 7162 §3.2.10.
 */
import { deletedUids } from '../../../store/expunge.js'
import { highestModSeq } from '../../protocol/compile/response-code.js'
import { SELECTED } from '../states.js'
import { slotsOf } from '../message-set.js'

/** @import { ResponseCode } from '../../protocol/compile/response-code.js' */
/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */
/** @import { MailboxView } from '../../../store/mailbox-view.js' */
/** @import { SequenceSet } from '../../protocol/values/sequence-set.js' */

/** @type {Command} */
export const expunge = {
  name: 'EXPUNGE',
  states: SELECTED,
  allowsExpunge: true,
  async run(session) {
    const { view } = session.requireWritable()
    const gone = await expungeMessages(session, view, null)
    return { ...modSeqAfter(session, gone), text: 'EXPUNGE completed' }
  }
}

/** @type {Command} */
export const uidExpunge = {
  name: 'UID EXPUNGE',
  states: SELECTED,
  allowsExpunge: true,
  async run(session, /** @type {{ set: SequenceSet }} */ { set }) {
    const selected = session.requireWritable()
    const { slots } = slotsOf(selected, set, true)
    const { view } = selected
    // A client may name all messages to have few expunged, or none: the others are not looked up.
    const uids = deletedUids(view, slots)
    const gone = uids.length === 0 ? [] : await expungeMessages(session, view, uids)
    return { ...modSeqAfter(session, gone), text: 'UID EXPUNGE completed' }
  }
}

/**
 * @param {Session} session
 * @param {MailboxView} view
 * @param {number[] | null} uids - of which those with \Deleted go; null: of all
 * @returns {Promise<readonly number[]>} those that went
 */
async function expungeMessages(session, view, uids) {
  const { store, origin } = session
  return await session.whileWorking(() => store.expunge({ view, uids, origin }))
}

/**
 * @param {Session} session
 * @param {ArrayLike<number>} gone - UIDs that this command has expunged
 * @returns {{ code?: ResponseCode }} RFC 7162 §3.2.7 and §3.2.9, RFC 6851 §4.4: the mod-sequence that the client may rely on
 *   next time
 */
export function modSeqAfter(session, gone) {
  if (!session.enabled.isQresync || gone.length === 0) return {}
  return { code: highestModSeq(session.requireSelected().view.highestModSeq) }
}
