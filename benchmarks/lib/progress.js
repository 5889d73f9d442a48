/**
 * Shows what is being measured: a bar on a terminal, a line for each step elsewhere. On standard error, because
 * standard output is for the report.
 */
import cliProgress from 'cli-progress'

/** Progress of one question at a time. */
export class Progress {
  #stream
  #label = ''
  #steps = 0
  #total = 0
  /** @type {cliProgress.SingleBar | null} */
  #bar = null

  /** @param {NodeJS.WriteStream} stream */
  constructor(stream) {
    this.#stream = stream
  }

  /** @param {string} text */
  tell(text) {
    this.#stream.write(`${text}\n`)
  }

  /**
   * @param {string} label
   * @param {number} total - steps
   */
  begin(label, total) {
    this.#label = label
    this.#steps = 0
    this.#total = total
    if (!this.#stream.isTTY) return
    this.#bar = new cliProgress.SingleBar({
      format: '{label} {bar} {value}/{total} {step} {detail}',
      stream: this.#stream,
      hideCursor: true
    })
    this.#bar.start(total, 0, { label, step: '', detail: '' })
  }

  /** @param {string} step - what begins now */
  step(step) {
    this.#steps += 1
    if (this.#bar) this.#bar.update(this.#steps - 1, { step, detail: '' })
    else this.tell(`${this.#label} ${this.#steps}/${this.#total}: ${step}`)
  }

  /**
   * @param {number} done
   * @param {number} total
   */
  detail(done, total) {
    this.#bar?.update({ detail: `${Math.floor((100 * done) / Math.max(1, total))} %` })
  }

  /** The question is answered, or has failed. */
  end() {
    this.#bar?.update(this.#total, { step: '', detail: '' })
    this.#bar?.stop()
    this.#bar = null
  }
}
