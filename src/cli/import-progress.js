/**
 * How an import shows itself: a bar with rate and time left on a terminal, plain lines otherwise. Failures go to standard
 * error as they come, each with its place.
 */
import cliProgress from 'cli-progress'
import { MailError } from '../errors.js'

/** @typedef {import('../import/import-item.js').ImportSource} ImportSource */
/** @typedef {import('../import/importer.js').ImportFailure} ImportFailure */
/** @typedef {import('../import/importer.js').ImportSummary} ImportSummary */

/** Plain lines are for logs: not more often than this. */
const LINE_EVERY_MS = 10_000

const BAR_FORMAT =
  '{name} {bar} {percentage} % | {messages} messages | {rate}/s | {eta_formatted} left'

/** Shows one run. */
export class ImportProgress {
  #stdout
  #stderr
  #clock
  #startedMs
  #sourceStartedMs = 0
  #lastLineMs
  /** @type {cliProgress.MultiBar | null} */
  #bars
  /** @type {cliProgress.SingleBar | null} */
  #bar = null

  /**
   * @param {object} options
   * @param {NodeJS.WritableStream & { isTTY?: boolean }} options.stdout
   * @param {NodeJS.WritableStream} options.stderr
   * @param {import('../support/clock.js').Clock} options.clock
   */
  constructor({ stdout, stderr, clock }) {
    this.#stdout = stdout
    this.#stderr = stderr
    this.#clock = clock
    this.#startedMs = clock.nowMs()
    this.#lastLineMs = this.#startedMs
    this.#bars = stdout.isTTY
      ? new cliProgress.MultiBar(
          { format: BAR_FORMAT, stream: stdout, hideCursor: true, etaBuffer: 200 },
          cliProgress.Presets.shades_classic
        )
      : null
  }

  /**
   * @param {ImportSource} source
   * @param {ImportSummary} summary
   */
  start(source, summary) {
    this.#sourceStartedMs = this.#clock.nowMs()
    const payload = this.#payload(source, summary)
    this.#bar = this.#bars?.create(Math.max(source.total, 1), 0, payload) ?? null
  }

  /**
   * @param {ImportSource} source
   * @param {ImportSummary} summary
   */
  update(source, summary) {
    if (this.#bar) {
      this.#bar.update(source.position, this.#payload(source, summary))
      return
    }
    const nowMs = this.#clock.nowMs()
    if (nowMs - this.#lastLineMs < LINE_EVERY_MS) return
    this.#lastLineMs = nowMs
    const { name, messages, rate } = this.#payload(source, summary)
    const share = source.total === 0 ? 1 : Math.min(source.position / source.total, 1)
    const left =
      share === 0 ? '?' : seconds(((nowMs - this.#sourceStartedMs) / share) * (1 - share))
    const percent = Math.floor(share * 100)
    this.#stdout.write(`${name}: ${percent} %, ${messages} messages, ${rate}/s, ${left} left\n`)
  }

  /** @param {ImportFailure} failure */
  fail({ name, error }) {
    const line = `letterlock: ${name}: ${reasonOf(error)}\n`
    if (this.#bars) this.#bars.log(line)
    else this.#stderr.write(line)
  }

  /**
   * @param {ImportSource[]} sources
   * @param {ImportSummary} summary
   */
  end(sources, { imported, skipped, failed }) {
    this.#bars?.stop()
    const elapsedMs = Math.max(this.#clock.nowMs() - this.#startedMs, 1)
    const rate = Math.round(((imported + skipped) * 1000) / elapsedMs)
    const ignored = sources.reduce((sum, source) => sum + source.ignoredCount, 0)
    const lines = [
      `imported ${imported}, skipped ${skipped} that were there, failed ${failed}, ` +
        `in ${seconds(elapsedMs)} (${rate}/s)`
    ]
    if (ignored > 0) lines.push(`${ignored} files that are no messages were left alone`)
    this.#stdout.write(`${lines.join('\n')}\n`)
  }

  /**
   * @param {ImportSource} source
   * @param {ImportSummary} summary
   * @returns {{ name: string, messages: number, rate: number }}
   */
  #payload(source, { imported, skipped, failed }) {
    const messages = imported + skipped + failed
    const elapsedMs = Math.max(this.#clock.nowMs() - this.#startedMs, 1)
    return { name: source.name, messages, rate: Math.round((messages * 1000) / elapsedMs) }
  }
}

/**
 * @param {number} ms
 * @returns {string}
 */
function seconds(ms) {
  if (ms < 120_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  return `${Math.round(ms / 60_000)} min`
}

/**
 * @param {unknown} error
 * @returns {string} one line
 */
export function reasonOf(error) {
  if (error instanceof MailError) return error.message
  const { message } = /** @type {Error} */ (error)
  return message.split('\n')[0] ?? ''
}
