/**
 * Where commands get passwords from: a prompt on a terminal, or lines of standard input with
 * `--password-stdin`. Never from the command line, which every user of the machine can read.
 */
import { password as promptPassword } from '@inquirer/prompts'
import { CliError } from './cli-error.js'

/** The longest line that is taken for a password, bytes: as long as a login's literal may be. */
const MAX_PASSWORD_BYTES = 4096

/** What a person who types a new password at a prompt is held to, in characters (NIST SP 800-63B §3.1.1.2). */
export const MIN_TYPED_CHARACTERS = 8

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * @typedef {object} PasswordInputOptions
 * @property {NodeJS.ReadableStream & { isTTY?: boolean }} stdin
 * @property {NodeJS.WritableStream} stderr - prompts go here, so that standard output stays for results
 * @property {boolean} isStdin - `--password-stdin` was given
 */

/** Reads one or more passwords for one command. */
export class PasswordInput {
  #options
  /** @type {Buffer} */
  #rest = Buffer.alloc(0)
  /** @type {AsyncIterator<string | Buffer> | null} */
  #chunks = null
  #isEnded = false

  /** @param {PasswordInputOptions} options */
  constructor(options) {
    this.#options = options
  }

  /** @returns {boolean} whether somebody sits at the terminal and can be asked */
  get isInteractive() {
    return !this.#options.isStdin && this.#options.stdin.isTTY === true
  }

  /**
   * A password that exists already.
   *
   * @param {string} question
   * @returns {Promise<Buffer>} the caller zeroes it
   * @throws {CliError}
   */
  async read(question) {
    if (this.#options.isStdin) return this.#readLine(question)
    this.#requireTerminal()
    return this.#prompt(question)
  }

  /**
   * A new password: at a prompt it is asked for twice.
   *
   * @param {string} question
   * @returns {Promise<Buffer>} the caller zeroes it
   * @throws {CliError}
   */
  async readNew(question) {
    if (this.#options.isStdin) return this.#readLine(question)
    this.#requireTerminal()
    const password = await this.#prompt(`${question} (at least ${MIN_TYPED_CHARACTERS} characters)`)
    if ([...password.toString('utf8')].length < MIN_TYPED_CHARACTERS) {
      password.fill(0)
      throw new CliError(`A password needs at least ${MIN_TYPED_CHARACTERS} characters`)
    }
    const repeated = await this.#prompt('The same once more')
    const isSame = password.equals(repeated)
    repeated.fill(0)
    if (isSame) return password
    password.fill(0)
    throw new CliError('The two passwords differ')
  }

  #requireTerminal() {
    if (this.isInteractive) return
    throw new CliError('There is no terminal to ask on: use --password-stdin', { exitCode: 2 })
  }

  /**
   * @param {string} question
   * @returns {Promise<Buffer>}
   */
  async #prompt(question) {
    const { stdin, stderr } = this.#options
    try {
      const typed = await promptPassword(
        { message: question, mask: false },
        { input: stdin, output: stderr }
      )
      return Buffer.from(new TextEncoder().encode(typed).buffer)
    } catch (cause) {
      throw new CliError('Nothing was changed', { exitCode: 130, cause })
    }
  }

  /**
   * @param {string} question
   * @returns {Promise<Buffer>} one line without its end
   */
  async #readLine(question) {
    for (;;) {
      const end = this.#rest.indexOf(LINE_FEED)
      if (end !== -1 || this.#isEnded) {
        const whole = end === -1 ? this.#rest : this.#rest.subarray(0, end)
        const length = whole.at(-1) === CARRIAGE_RETURN ? whole.length - 1 : whole.length
        const line = Buffer.alloc(length)
        whole.copy(line)
        whole.fill(0)
        this.#rest = end === -1 ? Buffer.alloc(0) : this.#rest.subarray(end + 1)
        if (line.length > 0) return line
        throw new CliError(`Standard input has no line for: ${question}`, { exitCode: 2 })
      }
      await this.#readMore()
    }
  }

  async #readMore() {
    this.#chunks ??= /** @type {AsyncIterator<string | Buffer>} */ (
      this.#options.stdin[Symbol.asyncIterator]()
    )
    const { value, done } = await this.#chunks.next()
    if (done) {
      this.#isEnded = true
      return
    }
    const chunk = typeof value === 'string' ? Buffer.from(value, 'utf8') : value
    const joined = Buffer.alloc(this.#rest.length + chunk.length)
    this.#rest.copy(joined)
    chunk.copy(joined, this.#rest.length)
    this.#rest.fill(0)
    chunk.fill(0)
    this.#rest = joined
    if (this.#rest.length > 4 * MAX_PASSWORD_BYTES && this.#rest.indexOf(LINE_FEED) === -1) {
      throw new CliError('The line on standard input is too long for a password', { exitCode: 2 })
    }
  }
}
