/**
 * What the imports have in common when they show themselves: bars on a terminal, now and then a plain line elsewhere,
 * failures on standard error as they come.
 */
import { getSystemErrorMessage } from 'node:util'
import cliProgress from 'cli-progress'
import { MailError } from '../errors.js'
import { plainText } from './plain-text.js'
import { whenInterrupted } from './when-interrupted.js'

/** Plain lines are for logs: one comes after so long at the earliest, ms. */
const LINE_EVERY_MS = 10_000

/** One run. */
export class ProgressView {
  #stdout
  #stderr
  #clock
  #startedMs
  #lastLineMs
  #release = () => {}

  /**
   * @param {object} streams
   * @param {NodeJS.WritableStream & { isTTY?: boolean }} streams.stdout
   * @param {NodeJS.WritableStream} streams.stderr
   * @param {import('../support/clock.js').Clock} streams.clock
   * @param {cliProgress.Options} bars - how they look
   */
  constructor({ stdout, stderr, clock }, bars) {
    this.#stdout = stdout
    this.#stderr = stderr
    this.#clock = clock
    this.#startedMs = clock.nowMs()
    this.#lastLineMs = this.#startedMs
    /** The bars; null where there is no terminal. */
    this.bars = stdout.isTTY
      ? new cliProgress.MultiBar(
          { stream: stdout, hideCursor: true, formatTime: timeLeft, ...bars },
          cliProgress.Presets.shades_classic
        )
      : null
    if (this.bars) this.#guard(this.bars)
  }

  /**
   * Gives the terminal its cursor and line breaks back, however the command ends. Only the second Ctrl-C is guarded: after the
   * first one the command ends by itself.
   *
   * @param {cliProgress.MultiBar} bars
   */
  #guard(bars) {
    const leave = () => bars.stop()
    const releases = [whenInterrupted(leave, ['SIGTERM', 'SIGHUP'])]
    const onFirst = () => releases.push(whenInterrupted(leave, ['SIGINT']))
    process.once('SIGINT', onFirst)
    this.#release = () => {
      process.removeListener('SIGINT', onFirst)
      for (const release of releases) release()
    }
  }

  /** @returns {number} since the beginning, ms, never 0 */
  get elapsedMs() {
    return this.since(this.#startedMs)
  }

  /**
   * @param {number} timeMs
   * @returns {number} ms, never 0: rates divide by it
   */
  since(timeMs) {
    return Math.max(this.#clock.nowMs() - timeMs, 1)
  }

  /** @param {() => string} line - written where there are no bars, when the last one was long enough ago */
  tellNowAndThen(line) {
    const nowMs = this.#clock.nowMs()
    if (this.bars || nowMs - this.#lastLineMs < LINE_EVERY_MS) return
    this.#lastLineMs = nowMs
    this.#stdout.write(`${line()}\n`)
  }

  /** @param {string} text */
  tell(text) {
    this.#write(`${plainText(text)}\n`, this.#stdout)
  }

  /** @param {string} text - what failed, and why */
  fail(text) {
    this.#write(`letterlock: ${plainText(text)}\n`, this.#stderr)
  }

  /**
   * @param {string} line
   * @param {NodeJS.WritableStream} stream - where there are no bars
   */
  #write(line, stream) {
    if (this.bars) this.bars.log(line)
    else stream.write(line)
  }

  /** Ends the bars. */
  stop() {
    this.#release()
    this.bars?.stop()
  }

  /** @param {readonly string[]} lines - of the report */
  end(lines) {
    this.stop()
    for (const line of lines) this.#stdout.write(`${line}\n`)
  }
}

/**
 * @param {number | string} seconds - a word instead while nothing is known yet
 * @returns {string}
 */
export const timeLeft = (seconds) =>
  typeof seconds === 'number' && Number.isFinite(seconds) ? duration(1000 * seconds) : 'some time'

/**
 * @param {number} ms
 * @returns {string}
 */
export function duration(ms) {
  if (ms < 120_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

/**
 * @param {unknown} error
 * @param {string} [name] - of what it is about, if that is told before it
 * @returns {string} one line; of a file it says which, unless the name does
 */
export function reasonOf(error, name) {
  if (error instanceof MailError) return error.message
  const { message, errno, path } = /** @type {NodeJS.ErrnoException} */ (error)
  if (errno !== undefined && path !== undefined) {
    const reason = getSystemErrorMessage(errno)
    return name && String(path).endsWith(name) ? reason : `${path}: ${reason}`
  }
  return message.split('\n')[0] ?? ''
}
