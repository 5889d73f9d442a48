/**
 * One bar on a terminal, nothing elsewhere. However the command ends, the terminal gets its cursor and line breaks back.
 */
import cliProgress from 'cli-progress'
import { timeLeft } from './progress-view.js'
import { whenInterrupted } from './when-interrupted.js'

/** Shows how far one piece of work has come. */
export class TerminalBar {
  /** @type {cliProgress.SingleBar | null} */
  #bar
  #release = () => {}

  /**
   * @param {NodeJS.WritableStream & { isTTY?: boolean }} stream
   * @param {string} format - as cli-progress takes it
   * @param {cliProgress.Options} [options]
   */
  constructor(stream, format, options = {}) {
    this.#bar = stream.isTTY
      ? new cliProgress.SingleBar(
          { format, stream, hideCursor: true, formatTime: timeLeft, ...options },
          cliProgress.Presets.shades_classic
        )
      : null
  }

  /**
   * @param {number} done
   * @param {number} total
   * @param {object} [payload] - for the format
   */
  update(done, total, payload) {
    const bar = this.#bar
    if (!bar) return
    if (!bar.isActive) this.#start(bar, total, payload)
    bar.setTotal(Math.max(total, 1))
    bar.update(done, payload)
  }

  /**
   * @param {cliProgress.SingleBar} bar
   * @param {number} total
   * @param {object} [payload]
   */
  #start(bar, total, payload) {
    this.#release = whenInterrupted(() => bar.stop())
    bar.start(Math.max(total, 1), 0, payload)
  }

  /** Leaves the last state on the screen, if there is one: what is said next stands below it. */
  stop() {
    this.#release()
    this.#bar?.stop()
  }
}
