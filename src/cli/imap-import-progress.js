/**
 * How a copy from another IMAP server shows itself: on a terminal a bar for all and one for each folder that is under
 * way, with rate and time left; plain lines otherwise. Failures go to standard error as they come.
 */
import { plainText } from './plain-text.js'
import { ProgressView, duration, reasonOf } from './progress-view.js'
import { counted } from '../support/format.js'

/** @typedef {import('../import/imap/copy-account.js').AccountReport} AccountReport */
/** @typedef {import('../import/imap/copy-account.js').CopyObserver} CopyObserver */

const BAR_FORMAT = '{name} {bar} {percentage} % | {value} of {total} | {rate}/s | {left} left'

/** OpenSSL's codes for a certificate that no known authority has signed. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
])

/** How the report on a copy begins: by this it is found among other lines. */
export const REPORT_BEGINNING = 'copied '

/**
 * @param {string} folder - that the user wants left out
 * @returns {string} said where the source has none of that name
 */
export const unknownExclude = (folder) =>
  `--exclude ${plainText(folder)}: the source has no such folder`

/** Ends what is said of messages that were deleted at the source and not here. */
export const LEFT_HERE = ' gone at the source, and left here (see --expunge)'

/** Names are cut to so many columns, so that bars stand below each other. */
const NAME_COLUMNS = 28

/** Shows the copy of one account. */
export class ImapImportProgress {
  #clock
  #view
  #startedMs
  /** @type {Map<string, { done: number, total: number, startedMs: number, doneAtStart: number }>} */
  #folders = new Map()
  /** @type {Map<string, import('cli-progress').SingleBar>} */
  #byFolder = new Map()

  /** @param {ConstructorParameters<typeof ProgressView>[0]} streams */
  constructor(streams) {
    this.#clock = streams.clock
    this.#startedMs = streams.clock.nowMs()
    this.#view = new ProgressView(streams, { format: BAR_FORMAT, clearOnComplete: true })
  }

  /** @returns {CopyObserver} */
  get observer() {
    return {
      onPlan: (plan) => this.#plan(plan),
      // Told, but not as a failure: with many accounts, not each need have the folder.
      onEmptyExclude: (folder) => this.#view.tell(unknownExclude(folder)),
      onProgress: (mailbox, progress) => this.#update(mailbox, progress),
      onFolder: (mailbox) => this.#finish(mailbox),
      onFailure: ({ mailbox, uid, error }) => {
        const where = uid === null ? mailbox : `${mailbox}: UID ${uid}`
        this.fail(`${where}: ${sourceReason(error)}`)
      }
    }
  }

  /** @param {string} text */
  fail(text) {
    this.#view.fail(text)
  }

  /** Takes the bars away. */
  stop() {
    this.#view.stop()
  }

  /** @param {AccountReport} report */
  end(report) {
    this.#view.end(reportLines(report, this.#view.elapsedMs))
  }

  /** @param {readonly { mailbox: string, messages: number }[]} plan */
  #plan(plan) {
    const nowMs = this.#clock.nowMs()
    for (const { mailbox, messages } of plan) {
      this.#folders.set(mailbox, { done: 0, total: messages, startedMs: nowMs, doneAtStart: 0 })
    }
    this.#show('all folders', this.#all())
  }

  /**
   * @param {string} mailbox
   * @param {{ done: number, total: number }} progress
   */
  #update(mailbox, { done, total }) {
    const isFirst = !this.#byFolder.has(mailbox) && this.#folders.get(mailbox)?.done === 0
    const known = this.#folders.get(mailbox)
    const start = isFirst || !known ? { startedMs: this.#clock.nowMs(), doneAtStart: done } : known
    const folder = { startedMs: start.startedMs, doneAtStart: start.doneAtStart, done, total }
    this.#folders.set(mailbox, folder)
    this.#show(mailbox, folder)
    this.#show('all folders', this.#all())
    this.#view.tellNowAndThen(
      () => `${this.#line(mailbox, folder)}; ${this.#line('all folders', this.#all())}`
    )
  }

  /** @param {string} mailbox */
  #finish(mailbox) {
    const bar = this.#byFolder.get(mailbox)
    if (bar) this.#view.bars?.remove(bar)
    this.#byFolder.delete(mailbox)
  }

  #all() {
    const sum = { done: 0, total: 0, startedMs: this.#startedMs, doneAtStart: 0 }
    for (const { done, total, doneAtStart } of this.#folders.values()) {
      sum.done += done
      sum.total += total
      sum.doneAtStart += doneAtStart
    }
    return sum
  }

  /**
   * @param {string} name
   * @param {{ done: number, total: number, startedMs: number, doneAtStart: number }} progress
   */
  #show(name, progress) {
    const { bars } = this.#view
    if (!bars) return
    const payload = {
      name: name.slice(0, NAME_COLUMNS).padEnd(NAME_COLUMNS),
      ...this.#pace(progress)
    }
    const total = Math.max(progress.total, 1)
    const bar = this.#byFolder.get(name)
    if (bar) {
      bar.setTotal(total)
      bar.update(progress.done, payload)
    } else this.#byFolder.set(name, bars.create(total, progress.done, payload))
  }

  /**
   * @param {string} name
   * @param {{ done: number, total: number, startedMs: number, doneAtStart: number }} progress
   * @returns {string}
   */
  #line(name, progress) {
    const { rate, left } = this.#pace(progress)
    return `${name}: ${progress.done} of ${progress.total}, ${rate}/s, ${left} left`
  }

  /**
   * The rate leaves out messages that were there from an earlier run.
   *
   * @param {{ done: number, total: number, startedMs: number, doneAtStart: number }} progress
   * @returns {{ rate: number, left: string }}
   */
  #pace({ done, total, startedMs, doneAtStart }) {
    const perMs = (done - doneAtStart) / this.#view.since(startedMs)
    const left = perMs > 0 ? duration(Math.max(total - done, 0) / perMs) : '?'
    return { rate: Math.round(perMs * 1000), left: done >= total ? '0 s' : left }
  }
}

/**
 * @param {AccountReport} report
 * @param {number} elapsedMs
 * @returns {string[]}
 */
function reportLines(report, elapsedMs) {
  const { folders, foldersWithUids, copied, skipped, flagged, expunged, kept, failed } = report
  const rate = Math.round((copied * 1000) / elapsedMs)
  const lines = [
    `${REPORT_BEGINNING}${copied}, there already ${skipped}, flags changed ${flagged}, deleted ${expunged}, failed ${failed}, ` +
      `in ${duration(elapsedMs)} (${rate}/s)`,
    `${counted(folders, 'folder')}, ${foldersWithUids} with the UIDs of the source: mail programs keep what they have of these`
  ]
  if (kept > 0) lines.push(`${counted(kept, 'message is', 'messages are')}${LEFT_HERE}`)
  return lines
}

/**
 * @param {unknown} error - of the source or of our own
 * @returns {string} one line
 */
export function sourceReason(error) {
  const { authenticationFailed, responseText, code } =
    /** @type {import('imapflow').ImapFlowError} */ (error)
  if (authenticationFailed) return 'the source refused the login'
  if (responseText) return `the source says: ${responseText.split('\n')[0]}`
  if (UNTRUSTED.has(String(code)))
    return `nobody whom this machine trusts has signed the source’s certificate (${code}). If it is the right server, name that certificate, or who has signed it, with --ca FILE`
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'the source does not begin with TLS at this port. If it wants STARTTLS there, write imap:// instead of imaps://'
  // OpenSSL's own text is for those who know its source.
  if (/^ERR_SSL_/.test(String(code))) return `TLS with the source fails (${code})`
  return typeof code === 'string' && /^E[A-Z]+$/.test(code)
    ? `the source cannot be reached (${code})`
    : reasonOf(error)
}
