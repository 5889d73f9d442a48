/**
 * When a session looks at what other processes have written to its mailboxes: before each command, unless it has a
 * reason not to.
 */

/** Commands that came together may go by the same look for so long. */
const TOGETHER_MS = 20
/** The same for those that ask for no news. */
const LAG_MS = 500

/** Of one session. */
export class ForeignNews {
  /** The connection's inputCount at the last look. */
  #input = -1

  /**
   * Takes in what other processes have written since the command that is to be run was sent. One that came in the same
   * packet as another was sent before that one was answered: what was taken in for the one will do for both, for a while.
   *
   * @param {Pick<import('../../store/account-store.js').AccountStore, 'pollOtherProcesses'>} store
   * @param {object} command
   * @param {number} command.inputCount - the connection's
   * @param {boolean} command.mayLag - it asks for no news: what was taken in a moment ago, for anybody, will do as well
   * @returns {Promise<void> | null} null: there is nothing to wait for
   */
  poll(store, { inputCount, mayLag }) {
    if (mayLag) return store.pollOtherProcesses(LAG_MS)
    const isTogether = inputCount === this.#input
    this.#input = inputCount
    return store.pollOtherProcesses(isTogether ? TOGETHER_MS : 0)
  }
}
