/**
 * How an import shows itself: a bar with rate and time left on a terminal, plain lines otherwise. Failures go to standard
 * error as they come, each with the place of its message.
 */
import { plainText } from './plain-text.js'
import { ProgressView, duration, reasonOf } from './progress-view.js'
import { counted } from '../support/format.js'

/** @typedef {import('../import/import-item.js').ImportSource} ImportSource */
/** @typedef {import('../import/importer.js').ImportFailure} ImportFailure */
/** @typedef {import('../import/importer.js').ImportSummary} ImportSummary */

const BAR_FORMAT =
  '{name} {bar} {percentage} % | {messages} messages | {rate}/s | {eta_formatted} left'

/** Shows one run. */
export class ImportProgress {
  #clock
  #view
  #sourceStartedMs = 0
  /** @type {import('cli-progress').SingleBar | null} */
  #bar = null

  /** @param {ConstructorParameters<typeof ProgressView>[0]} streams */
  constructor(streams) {
    this.#clock = streams.clock
    this.#view = new ProgressView(streams, { format: BAR_FORMAT, etaBuffer: 200 })
  }

  /**
   * @param {ImportSource} source
   * @param {ImportSummary} summary
   */
  start(source, summary) {
    this.#sourceStartedMs = this.#clock.nowMs()
    const payload = this.#payload(source, summary)
    this.#bar = this.#view.bars?.create(Math.max(source.total, 1), 0, payload) ?? null
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
    this.#view.tellNowAndThen(() => {
      const { name, messages, rate } = this.#payload(source, summary)
      const share = source.total === 0 ? 1 : Math.min(source.position / source.total, 1)
      const spentMs = this.#view.since(this.#sourceStartedMs)
      const left = share === 0 ? '?' : duration((spentMs / share) * (1 - share))
      return `${name}: ${Math.floor(share * 100)} %, ${counted(messages, 'message')}, ${rate}/s, ${left} left`
    })
  }

  /** @param {ImportFailure} failure */
  fail({ name, error }) {
    this.#view.fail(`${name}: ${reasonOf(error, name)}`)
  }

  /**
   * @param {ImportSource[]} sources
   * @param {ImportSummary} summary
   */
  end(sources, { imported, skipped, failed }) {
    const { elapsedMs } = this.#view
    const rate = Math.round(((imported + skipped) * 1000) / elapsedMs)
    const ignored = sources.reduce((sum, source) => sum + source.ignoredCount, 0)
    const lines = [
      `imported ${imported}, skipped ${skipped} that were there, failed ${failed}, ` +
        `in ${duration(elapsedMs)} (${rate}/s)`
    ]
    if (ignored > 0) {
      const files = counted(
        ignored,
        'file that is no message was',
        'files that are no messages were'
      )
      lines.push(`${files} left alone`)
    }
    this.#view.end(lines)
  }

  /**
   * @param {ImportSource} source
   * @param {ImportSummary} summary
   * @returns {{ name: string, messages: number, rate: number }}
   */
  #payload(source, { imported, skipped, failed }) {
    const messages = imported + skipped + failed
    const rate = Math.round((messages * 1000) / this.#view.elapsedMs)
    return { name: plainText(source.name), messages, rate }
  }
}
