/**
 * How a backup or a restore shows itself: a bar by bytes on a terminal, nothing elsewhere.
 */
import { formatBytes } from '../support/format.js'
import { TerminalBar } from './terminal-bar.js'

const FORMAT = '{what} {bar} {percentage} % | {done} of {all} | {accounts}{eta_formatted} left'

/**
 * @typedef {object} TransferProgress
 * @property {number} accounts
 * @property {number} accountsTotal
 * @property {number} bytes
 * @property {number} bytesTotal
 */

/** One bar. */
export class BackupProgress {
  #what
  #bar

  /**
   * @param {NodeJS.WritableStream & { isTTY?: boolean }} stream
   * @param {string} what - goes on, in a word such as `restoring`
   */
  constructor(stream, what) {
    this.#what = what
    this.#bar = new TerminalBar(stream, FORMAT, { etaBuffer: 100 })
  }

  /** @param {TransferProgress} progress */
  update({ accounts, accountsTotal, bytes, bytesTotal }) {
    const total = Math.max(bytesTotal, bytes)
    this.#bar.update(bytes, total, {
      what: this.#what,
      done: formatBytes(bytes),
      all: formatBytes(total),
      // With one account alone, the count would not change until the end.
      accounts: accountsTotal > 1 ? `${accounts} of ${accountsTotal} accounts | ` : ''
    })
  }

  /** Leaves the last state on the screen: what is said next stands below it. */
  stop() {
    this.#bar.stop()
  }
}
