/**
 * How a backup or a restore shows itself: a bar by bytes on a terminal, nothing elsewhere.
 */
import cliProgress from 'cli-progress'
import { timeLeft } from './progress-view.js'
import { formatBytes } from './with-accounts.js'

const FORMAT =
  '{what} {bar} {percentage} % | {done} of {all} | {accounts} of {accountsTotal} accounts | {eta_formatted} left'

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
  /** @type {cliProgress.SingleBar | null} */
  #bar

  /**
   * @param {NodeJS.WritableStream & { isTTY?: boolean }} stream
   * @param {string} what - is going on
   */
  constructor(stream, what) {
    this.#what = what
    this.#bar = stream.isTTY
      ? new cliProgress.SingleBar(
          { format: FORMAT, stream, hideCursor: true, etaBuffer: 100, formatTime: timeLeft },
          cliProgress.Presets.shades_classic
        )
      : null
  }

  /** @param {TransferProgress} progress */
  update({ accounts, accountsTotal, bytes, bytesTotal }) {
    const bar = this.#bar
    if (!bar) return
    const total = Math.max(bytesTotal, bytes, 1)
    const payload = {
      what: this.#what,
      done: formatBytes(bytes),
      all: formatBytes(total),
      accounts,
      accountsTotal
    }
    if (!bar.isActive) bar.start(total, bytes, payload)
    bar.setTotal(total)
    bar.update(bytes, payload)
  }

  /** Leaves the last state on the screen. */
  stop() {
    this.#bar?.stop()
  }
}
