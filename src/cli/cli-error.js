/**
 * What a command tells the person at the terminal, with the exit code for the script that ran it.
 */

/** An expected failure of a command: its message is printed as it stands, without a stack. */
export class CliError extends Error {
  /**
   * @param {string} message - one sentence for the terminal; never a password or a key
   * @param {{ exitCode?: number, cause?: unknown }} [options] - exit code 1 unless told
   */
  constructor(message, { exitCode = 1, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CliError'
    /** @type {number} */
    this.exitCode = exitCode
  }
}
