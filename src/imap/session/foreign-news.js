/**
 * When a session looks at what other processes have written to its mailboxes: before each command, unless it has a
 * reason not to.
 */

/** Commands that came together may go by the same look at other processes' changes for so many ms. */
const TOGETHER_MS = 20
/** Commands that ask for no news may go by any look of the last so many ms. */
const LAG_MS = 500

/** Looks for the changes of other processes on behalf of one session. */
export class ForeignNews {
  /** The connection's inputCount at the last look. */
  #input = -1

  /**
   * Takes in what other processes have written since the command that is to be run was sent. A command that came in the same
   * packet as another was sent before that one was answered: one look will do for both, for a while.
   *
   * @param {Pick<import('../../store/account-store.js').AccountStore, 'pollOtherProcesses'>} store
   * @param {object} command
   * @param {number} command.inputCount - the connection's
   * @param {boolean} command.mayLag - the command asks for no news: a look of a moment ago, for anybody, will do as well
   * @returns {Promise<void> | null} null: there is nothing to wait for
   */
  poll(store, { inputCount, mayLag }) {
    if (mayLag) return store.pollOtherProcesses(LAG_MS)
    const isTogether = inputCount === this.#input
    this.#input = inputCount
    return store.pollOtherProcesses(isTogether ? TOGETHER_MS : 0)
  }
}
