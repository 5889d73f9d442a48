/**
 * THREAD: messages gathered into conversations, from what is stored of them. RFC 5256 §3 (BASE.6.4.THREAD).
 */
import { Slicer } from '../../support/slicer.js'
import { threadByReferences } from './references.js'
import { threadBySubject } from './ordered-subject.js'

/** @import { AccountStore } from '../account-store.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Containers } from './containers.js' */

/**
 * @typedef {object} Threads
 * @property {Uint32Array} heads - of the threads, in order; only these may be of messages that are not there
 * @property {Containers} containers - with the children of each, in order
 */

/**
 * @param {object} request
 * @param {AccountStore} request.store
 * @param {MailboxView} request.view - whose slots stay in place meanwhile
 * @param {readonly number[]} request.slots - of the messages, ascending
 * @param {'REFERENCES' | 'ORDEREDSUBJECT'} request.algorithm
 * @param {AbortSignal} [request.signal] - ends the work early
 * @returns {Promise<Threads>} messages that have gone meanwhile are left out
 * @throws {import('../../errors.js').MailError} what the store throws
 * @throws the signal's reason when it was aborted
 */
export async function threadMessages({ store, view, slots, algorithm, signal }) {
  const slicer = new Slicer(signal)
  const thread = algorithm === 'REFERENCES' ? threadByReferences : threadBySubject
  return await thread({ store, view }, slots, slicer)
}
