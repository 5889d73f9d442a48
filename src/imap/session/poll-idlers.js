/**
 * Takes in what other processes have written for sessions in IDLE: other sessions take it in with their commands.
 */
import { Slicer } from '../../support/slicer.js'

/** @import { AccountStore } from '../../store/account-store.js' */

/**
 * One look for each account: its sessions share the store, and its views wake those that have news. Gives way to others in
 * between, because thousands may idle; whoever has ended meanwhile is passed over.
 *
 * @param {Iterable<{ isIdling: boolean, store: Pick<AccountStore, 'pollOtherProcesses'> }>} sessions
 * @param {(error: unknown) => void} onError - told of each look that failed
 * @returns {Promise<void>} when all have been begun; what there is to be taken in may take longer
 */
export async function pollForIdlers(sessions, onError) {
  /** @type {Set<Pick<AccountStore, 'pollOtherProcesses'>>} */
  const looked = new Set()
  const slicer = new Slicer()
  for (const session of [...sessions]) {
    if (slicer.isSpent) await slicer.breathe()
    if (!session.isIdling || looked.has(session.store)) continue
    looked.add(session.store)
    session.store.pollOtherProcesses()?.catch(onError)
  }
}
