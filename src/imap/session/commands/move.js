/**
 * MOVE and UID MOVE put messages into another mailbox and take them out of this one, in one step. COPYUID goes out
 * before the EXPUNGEs; an empty set is answered OK (iOS shows ghosts otherwise).
 *
 * State: selected, read-write.
 * Command: RFC 6851 §3.1, §3.2, §4.3, RFC 9051 §6.4.8. Responses: RFC 4315 §3 (COPYUID), RFC 3501 §7.4.1; RFC 6851 §4.4
 * (HIGHESTMODSEQ).
 */
import { Slicer } from '../../../support/slicer.js'
import { uidsToTransfer } from '../message-set.js'
import { SELECTED } from '../states.js'
import { copyUidOf } from './copy.js'
import { modSeqAfter } from './expunge.js'

/** @import { Command, CommandResult } from '../dispatcher.js' */
/** @import { CopyArgs } from './copy.js' */
/** @import { Session } from '../session.js' */

/** @type {Command} */
export const move = {
  name: 'MOVE',
  states: SELECTED,
  allowsExpunge: true,
  mayLag: true,
  run: (session, /** @type {CopyArgs} */ args) => moveMessages(session, args, 'MOVE')
}

/** @type {Command} */
export const uidMove = {
  name: 'UID MOVE',
  states: SELECTED,
  allowsExpunge: true,
  mayLag: true,
  run: (session, /** @type {CopyArgs} */ args) => moveMessages(session, args, 'UID MOVE')
}

/**
 * @param {Session} session
 * @param {CopyArgs} args
 * @param {string} name
 * @returns {Promise<CommandResult>}
 */
async function moveMessages(session, { isUid, set, mailbox }, name) {
  const selected = session.requireWritable()
  const slicer = new Slicer()
  const { uids, isExact } = await uidsToTransfer(selected, set, isUid, slicer)
  if (uids.length === 0) return { text: `${name} completed, nothing to move` }
  if (slicer.isSpent) await slicer.breathe()
  const moved = await session.whileWorking(() =>
    session.store.moveMessages({
      from: selected.view,
      uids,
      toMailbox: mailbox,
      isExact,
      origin: session.origin
    })
  )
  if (moved.uids.length > 0) session.untagged('OK', await copyUidOf(moved, slicer), 'Moved')
  return { ...modSeqAfter(session, moved.sourceUids), text: `${name} completed` }
}
