/**
 * A load client: bare sockets, as little work as possible between a byte and the clock. An answer is kept as it came, and
 * checked after the clock has stopped.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { now } from './question.js'

/**
 * @typedef {object} Answer
 * @property {Buffer} bytes - from the first byte after the command to the end of the tagged line
 * @property {string} status - the tagged line without its tag
 * @property {number} ms - from the first byte written to the tagged line
 *
 * @typedef {object} Address
 * @property {string} host
 * @property {number} port
 * @property {boolean} [isTls]
 */

/**
 * The tagged line of an answer is looked for in the last so many bytes, so that a flag scan is not searched through; in more
 * bytes where the line is longer (COPYUID of many UIDs far apart).
 */
const TAIL_BYTES = 2048
const LF = 10

/** One IMAP connection. One caller at a time. */
export class ImapClient {
  #socket
  /** @type {Buffer[]} */
  #chunks = []
  /** @type {(() => void) | null} */
  #onData = null
  /** @type {Error | null} */
  #failure = null
  #tagNumber = 0

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      this.#chunks.push(chunk)
      this.#onData?.()
    })
    const fail = (/** @type {Error} */ error) => {
      this.#failure ??= error
      this.#onData?.()
    }
    socket.on('error', fail)
    socket.on('close', () => fail(new Error(`connection closed; last: ${this.#tail()}`)))
  }

  /**
   * @param {Address} address
   * @returns {Promise<ImapClient>} after the greeting
   */
  static async connect({ host, port, isTls = false }) {
    const socket = isTls
      ? connectTls({ host, port, rejectUnauthorized: false })
      : connect({ host, port })
    await once(socket, isTls ? 'secureConnect' : 'connect')
    const client = new ImapClient(socket)
    await client.waitFor((tail) => /^(\* OK|220) .*\r\n$/.test(tail))
    client.take()
    return client
  }

  #tail() {
    for (let size = TAIL_BYTES; ; size *= 8) {
      const last = this.#last(size)
      const isWhole = last.length < size || last.at(-1) !== LF || last.lastIndexOf(LF, -2) >= 0
      if (isWhole) return last.toString('latin1')
    }
  }

  /** @param {number} size */
  #last(size) {
    const last = this.#chunks.at(-1) ?? Buffer.alloc(0)
    if (last.length >= size || this.#chunks.length < 2) return last.subarray(-size)
    let length = 0
    let index = this.#chunks.length
    while (index > 0 && length < size) length += this.#chunks[--index]?.length ?? 0
    return Buffer.concat(this.#chunks.slice(index)).subarray(-size)
  }

  /** @returns {Buffer} the bytes that have come since the last call */
  take() {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks)
    this.#chunks = []
    return bytes ?? Buffer.alloc(0)
  }

  /**
   * @template T
   * @param {(tail: string) => T | null | false | undefined} test - of the last bytes that have come
   * @returns {Promise<T>} what it gives
   */
  waitFor(test) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = test(this.#tail())
        if (!found && !this.#failure) return
        this.#onData = null
        if (found) resolve(found)
        else reject(this.#failure)
      }
      this.#onData = look
      look()
    })
  }

  /** @param {Buffer | string} bytes */
  write(bytes) {
    this.#socket.write(bytes)
  }

  /**
   * Sends commands at once and waits for the last one's answer.
   *
   * @param {ReadonlyArray<string | ReadonlyArray<string | Buffer>>} commands - without tag and line end; an array has
   *   literals in it, which must have been announced as non-synchronising
   * @returns {Promise<Answer>} the answers to all of them, in one
   */
  async pipeline(commands) {
    let tag = ''
    const pieces = commands.flatMap((command) => {
      tag = `q${(++this.#tagNumber).toString(36)}x`
      const parts = typeof command === 'string' ? [command] : command
      return [`${tag} `, ...parts, '\r\n'].map((part) =>
        typeof part === 'string' ? Buffer.from(part) : part
      )
    })
    const request = Buffer.concat(pieces)
    const start = now()
    this.write(request)
    const pattern = new RegExp(`(?:^|\\n)${tag} ([^\\r\\n]*)\\r\\n`)
    const found = await this.waitFor((tail) => tail.includes(`${tag} `) && pattern.exec(tail))
    const ms = now() - start
    return { bytes: this.take(), status: found[1] ?? '', ms }
  }

  /**
   * @param {string | ReadonlyArray<string | Buffer>} command
   * @returns {Promise<Answer>}
   * @throws {Error} when the answer is not OK
   */
  async run(command) {
    const answer = await this.pipeline([command])
    if (answer.status.startsWith('OK')) return answer
    const text = typeof command === 'string' ? command : String(command[0])
    throw new Error(`${text.slice(0, 80)}: ${answer.status}`)
  }

  /**
   * @param {string} user
   * @param {string} password
   */
  login(user, password) {
    return this.run(`LOGIN "${user}" "${password}"`)
  }

  /** Ends the connection, without waiting for the rest of an answer. */
  close() {
    this.#onData = null
    this.#socket.destroy()
  }
}

/** @param {number} epochSeconds */
function internalDate(epochSeconds) {
  const [, day, month, year, time] = new Date(epochSeconds * 1000).toUTCString().split(/,? /)
  return `${day}-${month}-${year} ${time} +0000`
}

/**
 * @param {import('./mail.js').Mail} mail
 * @returns {Array<string | Buffer>} what comes after the mailbox name: a message of APPEND or MULTIAPPEND
 */
export const appendArguments = ({ bytes, flags, epochSeconds }) => [
  ` (${flags.join(' ')}) "${internalDate(epochSeconds)}" {${bytes.length}+}\r\n`,
  bytes
]

/**
 * @param {Buffer} bytes - an answer
 * @param {string} text - ASCII
 * @returns {number} how often the bytes have the text
 */
export function countOf(bytes, text) {
  let count = 0
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) count++
  return count
}

/**
 * @param {Buffer} bytes - an answer to FETCH
 * @returns {Buffer[]} its literals, in order
 */
export function literalsOf(bytes) {
  const literals = []
  const sizes = /\{(\d+)\}\r\n/g
  const text = bytes.toString('latin1')
  for (let match = sizes.exec(text); match; match = sizes.exec(text)) {
    const end = sizes.lastIndex + Number(match[1])
    literals.push(bytes.subarray(sizes.lastIndex, end))
    sizes.lastIndex = end
  }
  return literals
}
