/**
 * THREAD: messages gathered into conversations, from what is stored of them. RFC 5256 §3 (BASE.6.4.THREAD).
 */
import { Slicer } from '../../support/slicer.js'
import { threadByReferences } from './references.js'
import { threadBySubject } from './ordered-subject.js'

/** @import { AccountStore } from '../account-store.js' */
/** @import { MailboxView } from '../mailbox-view.js' */

/**
 * @typedef {object} ThreadNode
 * @property {number} slot - of the message; -1 for one that is not there, which only the head of a thread can be
 * @property {ThreadNode[]} children - in order
 */

/**
 * @param {object} request
 * @param {AccountStore} request.store
 * @param {MailboxView} request.view - whose slots stay in place meanwhile
 * @param {readonly number[]} request.slots - of the messages, ascending
 * @param {'REFERENCES' | 'ORDEREDSUBJECT'} request.algorithm
 * @param {AbortSignal} [request.signal] - ends the work early
 * @returns {Promise<ThreadNode[]>} the threads, in order; messages that have gone meanwhile are left out
 * @throws {import('../../errors.js').MailError} what the store throws
 * @throws the signal's reason when it was aborted
 */
export async function threadMessages({ store, view, slots, algorithm, signal }) {
  const slicer = new Slicer(signal)
  const thread = algorithm === 'REFERENCES' ? threadByReferences : threadBySubject
  return await thread({ store, view }, slots, slicer)
}
