/**
 * Where commands get passwords and confirmations from: prompts on a terminal, or lines of standard input
 * with `--password-stdin`. Never from the command line, which every user of the machine can read.
 */
import { byteLines } from './byte-lines.js'
import { CliError } from './cli-error.js'

/** The longest line that is taken for a password, bytes: as long as a login's literal may be. */
const MAX_PASSWORD_BYTES = 4096

/** What a person who types a new password at a prompt is held to, in characters (NIST SP 800-63B, revision 3, §5.1.1.2). */
const MIN_TYPED_CHARACTERS = 8

/**
 * @typedef {object} PasswordInputOptions
 * @property {NodeJS.ReadableStream & { isTTY?: boolean }} stdin
 * @property {NodeJS.WritableStream} stderr - prompts go here, so that standard output stays for results
 * @property {boolean} isStdin - `--password-stdin` was given
 */

/** @typedef {{ input: NodeJS.ReadableStream, output: NodeJS.WritableStream }} Terminal */

/** Asks for what one command needs, in the order in which it needs it. */
export class PasswordInput {
  #options
  /** @type {AsyncGenerator<Buffer, void, void> | null} */
  #lines = null

  /** @param {PasswordInputOptions} options */
  constructor(options) {
    this.#options = options
  }

  /**
   * A password that exists already.
   *
   * @param {string} question
   * @returns {Promise<Buffer>} the caller zeroes it
   * @throws {CliError} where there is nobody to ask
   */
  read(question) {
    return this.#options.isStdin ? this.#readLine(question) : this.#prompt(question)
  }

  /**
   * Passes over the password of somebody who is not asked after all: its line of standard input, if passwords come there.
   */
  async passOver() {
    if (!this.#options.isStdin) return
    const { value } = await this.#nextLine()
    value?.fill(0)
  }

  /**
   * A new password: at a prompt it is asked for twice.
   *
   * @param {string} question
   * @returns {Promise<Buffer>} the caller zeroes it
   * @throws {CliError} where there is nobody to ask, or the two differ, or it is short
   */
  async readNew(question) {
    if (this.#options.isStdin) return this.#readLine(question)
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

  /**
   * A confirmation: the person types what stands in the question.
   *
   * @param {string} question
   * @param {string} expected
   * @throws {CliError} where the answer is another, or there is nobody to ask
   */
  async confirm(question, expected) {
    const answer = this.#options.isStdin
      ? (await this.#readLine(question)).toString('utf8')
      : await this.#ask('--yes', ({ input }, terminal) => input({ message: question }, terminal))
    if (answer.trim() !== expected) throw new CliError('Nothing was changed')
  }

  /** Lets go of standard input, so that the program can end. */
  async close() {
    await this.#lines?.return()
  }

  /**
   * @param {string} message
   * @returns {Promise<Buffer>}
   */
  async #prompt(message) {
    const typed = await this.#ask('--password-stdin', ({ password }, terminal) =>
      password({ message, mask: false }, terminal)
    )
    return Buffer.from(new TextEncoder().encode(typed).buffer)
  }

  /**
   * @template T
   * @param {string} instead - the option that makes the question needless
   * @param {(prompts: typeof import('@inquirer/prompts'), terminal: Terminal) => Promise<T>} prompt
   * @returns {Promise<T>}
   */
  async #ask(instead, prompt) {
    const { stdin, stderr } = this.#options
    if (stdin.isTTY !== true)
      throw new CliError(`There is no terminal to ask on: use ${instead}`, { exitCode: 2 })
    // Loaded only here: it takes a tenth of a command's start, and most commands ask nothing.
    const prompts = await import('@inquirer/prompts')
    try {
      return await prompt(prompts, { input: stdin, output: stderr })
    } catch (cause) {
      // Ctrl-C, or a terminal that went away.
      throw new CliError('Nothing was changed', { exitCode: 130, cause })
    }
  }

  /**
   * @param {string} question
   * @returns {Promise<Buffer>}
   */
  async #readLine(question) {
    const { value } = await this.#nextLine()
    if (value && value.length > 0) return value
    throw new CliError(`Standard input has no line for: ${question}`, { exitCode: 2 })
  }

  /** @returns {Promise<IteratorResult<Buffer, void>>} */
  #nextLine() {
    this.#lines ??= byteLines(this.#options.stdin, { maxBytes: MAX_PASSWORD_BYTES })
    return this.#lines.next()
  }
}
