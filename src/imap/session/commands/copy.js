/**
 * COPY and UID COPY put copies of messages, with flags and dates, at the end of another mailbox: all or none.
 *
 * State: selected (also after EXAMINE); needs a read-write credential.
 * Command: RFC 3501 §6.4.7, RFC 9051 §6.4.7. Responses: RFC 4315 §3 (COPYUID), RFC 3501 §7.1 (TRYCREATE),
 * RFC 5530 §3 (EXPUNGEISSUED).
 */
import { Slicer } from '../../../support/slicer.js'
import { copyUid } from '../../protocol/compile/response-code.js'
import { compileLongSet } from '../long-answer.js'
import { uidsToTransfer } from '../message-set.js'
import { SELECTED } from '../states.js'

/** @import { Command, CommandResult } from '../dispatcher.js' */
/** @import { TransferOutcome } from '../../../store/transfers.js' */
/** @import { ResponseCode } from '../../protocol/compile/response-code.js' */
/** @import { Session } from '../session.js' */

/** @typedef {import('../../protocol/parse/index.js').CommandArguments['COPY']} CopyArgs */

/** @type {Command} */
export const copy = {
  name: 'COPY',
  states: SELECTED,
  allowsExpunge: true,
  mayLag: true,
  run: (session, /** @type {CopyArgs} */ args) => copyMessages(session, args, 'COPY')
}

/** @type {Command} */
export const uidCopy = {
  name: 'UID COPY',
  states: SELECTED,
  allowsExpunge: true,
  mayLag: true,
  run: (session, /** @type {CopyArgs} */ args) => copyMessages(session, args, 'UID COPY')
}

/**
 * @param {Session} session
 * @param {CopyArgs} args
 * @param {string} name
 * @returns {Promise<CommandResult>}
 */
async function copyMessages(session, { isUid, set, mailbox }, name) {
  session.requireWriteScope()
  const selected = session.requireSelected()
  const slicer = new Slicer()
  const { uids, isExact } = await uidsToTransfer(selected, set, isUid, slicer)
  if (uids.length === 0) return { text: `${name} completed, nothing to copy` }
  if (slicer.isSpent) await slicer.breathe()
  const copied = await session.whileWorking(() =>
    session.store.copyMessages({
      from: selected.view,
      uids,
      toMailbox: mailbox,
      isExact,
      origin: session.origin
    })
  )
  if (copied.uids.length === 0) return { text: `${name} completed, nothing to copy` }
  return { code: await copyUidOf(copied, slicer), text: `${name} completed` }
}

/**
 * @param {TransferOutcome} transferred - at least one message
 * @param {Slicer} slicer
 * @returns {Promise<ResponseCode>} COPYUID
 */
export async function copyUidOf({ uidValidity, sourceUids, uids }, slicer) {
  if (slicer.isSpent) await slicer.breathe()
  return copyUid({
    uidValidity,
    sourceSet: await compileLongSet(sourceUids, slicer),
    set: await compileLongSet(uids, slicer)
  })
}
