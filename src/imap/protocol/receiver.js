/**
 * The push tokenizer: socket chunks in, commands out, one at a time, with bounded memory.
 *
 * - `push` takes a chunk; `read` returns one event, or null when it needs more bytes. Nothing is read ahead: the
 *   caller runs a command before it reads the next, so limits may change in between and STARTTLS can drop the rest.
 * - The same bytes give the same events, however they are cut into chunks (only `messageData` follows the cuts).
 * - Message literals pass as views of the chunks. Everything else that is held is bounded by the limits.
 * - After bad syntax the receiver finds the next command: a non-synchronising literal that the bad line announces is
 *   dropped with it, so that its content is never run as commands.
 *
 * RFC 9051 §2.2, §4.3, §9; RFC 7888 (LITERAL+).
 */
import { BufferedLiteral } from './buffered-literal.js'
import { CommandLine, findTag, findTrailingLiteral } from './command-line.js'
import { InputQueue } from './input-queue.js'
import { isMessageLiteral } from './message-literal.js'
import { withDefaults } from './receiver-limits.js'
import { badSyntax, SyntaxFailure } from './syntax-failure.js'

/** @typedef {import('./token.js').RawCommand} RawCommand */
/** @typedef {import('./command-line.js').LiteralHeader} LiteralHeader */
/** @typedef {import('./receiver-limits.js').ReceiverLimits} ReceiverLimits */

/**
 * @typedef {{ kind: 'command', command: RawCommand }
 *   | { kind: 'continue' }
 *   | { kind: 'message', command: RawCommand, literal: { size: number, isNonSync: boolean, isLiteral8: boolean } }
 *   | { kind: 'messageData', chunk: Buffer, isLast: boolean }
 *   | { kind: 'line', line: Buffer }
 *   | { kind: 'error', tag: string | null, failure: SyntaxFailure, isFatal: boolean }} ReceiverEvent
 */

/** Where the receiver stands. */
const STATE = Object.freeze({
  /** In a command's line, or before one. */
  line: 0,
  /** In a buffered literal. */
  literal: 1,
  /** A message literal was announced; the caller has not answered yet. */
  decision: 2,
  /** In a message literal that passes through. */
  message: 3,
  /** In a refused literal. */
  skipLiteral: 4,
  /** In the rest of a refused command. */
  skipLine: 5,
  /** After a failure that cannot be recovered from. */
  dead: 6
})

/** Turns a connection's bytes into commands. */
export class Receiver {
  /** @type {Required<ReceiverLimits>} */
  #limits
  #input = new InputQueue()
  /** @type {number} */
  #state = STATE.line
  #isLineExpected = false
  /** @type {CommandLine} */
  #command
  /** Bytes of this command's earlier lines, from its last message on. */
  #lineBytes = 0
  /** Bytes of this command's lines before its last message. */
  #passedBytes = 0
  /** Bytes of this command's buffered literals. */
  #literalBytes = 0
  /** @type {LiteralHeader | null} */
  #header = null
  /** Bytes that are still to come of the message, or of the refused literal, that is passing. */
  #remaining = 0
  /** @type {BufferedLiteral | null} */
  #literal = null

  /** @param {ReceiverLimits} limits */
  constructor(limits) {
    this.#limits = withDefaults(limits)
    this.#command = new CommandLine(this.#limits)
  }

  /**
   * Changes limits, from the next command on for tokens and nesting, at once for the others.
   * @param {Partial<ReceiverLimits>} limits - those that change
   */
  setLimits(limits) {
    this.#limits = { ...this.#limits, ...limits }
    if (this.#command.tag === null) this.#command = new CommandLine(this.#limits)
  }

  /** @returns {number} bytes that are held: not read yet, or part of the command in progress */
  get bufferedBytes() {
    const inCommand = this.#passedBytes + this.#lineBytes + this.#literalBytes
    return this.#input.unreadBytes + this.#input.partialBytes + inCommand
  }

  /** @returns {boolean} whether a command has begun and has not ended */
  get isInCommand() {
    return this.#state !== STATE.line || this.#command.tag !== null
  }

  /** @param {Buffer} chunk - the receiver's from now on: it changes the bytes where they lie, and zeroes what may be secret */
  push(chunk) {
    if (this.#state !== STATE.dead) this.#input.push(chunk)
  }

  /**
   * @returns {ReceiverEvent | null} null: more bytes are needed, or an answer to `message`
   */
  read() {
    for (;;) {
      switch (this.#state) {
        case STATE.line:
        case STATE.skipLine: {
          const room = Math.max(0, this.#limits.maxLineBytes - this.#lineBytes)
          const line = this.#input.takeLine(room)
          if (line === null) return null
          const event = line === 'too long' ? this.#onLongLine() : this.#onLine(line)
          if (event !== null) return event
          break
        }
        case STATE.literal: {
          const literal = /** @type {BufferedLiteral} */ (this.#literal)
          if (!literal.fillFrom(this.#input)) return null
          const event = this.#onLiteral(literal.bytes)
          if (event !== null) return event
          break
        }
        case STATE.message:
          return this.#readMessage()
        case STATE.skipLiteral:
          this.#remaining -= this.#input.skip(this.#remaining)
          if (this.#remaining > 0) return null
          this.#state = STATE.skipLine
          break
        default:
          return null
      }
    }
  }

  /**
   * Lets the announced message literal through. The caller writes the continuation of a synchronising one.
   */
  acceptMessage() {
    const { size } = this.#requireHeader()
    if (this.#state !== STATE.decision) throw new Error('No message literal waits for an answer')
    this.#remaining = size
    this.#state = STATE.message
  }

  /**
   * Refuses the announced message literal, or the rest of the one that is passing, or of the command after it. The
   * command is over without a further event; bytes of it that the client has sent, or cannot help sending, are dropped.
   * Refusing a second time changes nothing.
   */
  rejectMessage() {
    if (!this.isInCommand) throw new Error('No command is in progress')
    switch (this.#state) {
      case STATE.decision: {
        const { size, isNonSync } = this.#requireHeader()
        if (isNonSync) this.#skip(size)
        else this.#reset()
        break
      }
      case STATE.message:
        this.#skip(this.#remaining)
        break
      case STATE.literal:
        this.#skip(this.#literal?.left ?? 0)
        break
      case STATE.line:
        this.#reset()
        this.#state = STATE.skipLine
        break
      default:
        break
    }
  }

  /** The next line is not a command: it comes as a `line` event. For SASL and for the end of IDLE. */
  expectLine() {
    if (this.isInCommand) throw new Error('A line cannot be expected inside a command')
    this.#isLineExpected = true
  }

  /**
   * Hands over the bytes that no event has told of, between two commands.
   * @returns {Buffer}
   */
  takeRest() {
    if (this.isInCommand && this.#state !== STATE.dead)
      throw new Error('The rest cannot be taken inside a command')
    return this.#input.takeAll()
  }

  /**
   * @param {Buffer} line
   * @returns {ReceiverEvent | null}
   */
  #onLine(line) {
    if (this.#state === STATE.skipLine) return this.skipAfter(line)
    if (this.#isLineExpected) {
      this.#isLineExpected = false
      return { kind: 'line', line }
    }
    try {
      const header = this.#command.addLine(line)
      if (header === null) {
        const command = this.#command.raw
        this.#reset()
        return { kind: 'command', command }
      }
      this.#lineBytes += line.length
      return this.#onHeader(header)
    } catch (error) {
      if (error instanceof SyntaxFailure) return this.#fail(error, line)
      throw error
    }
  }

  /**
   * @param {LiteralHeader} header
   * @returns {ReceiverEvent | null}
   * @throws {SyntaxFailure}
   */
  #onHeader(header) {
    const { size, isNonSync, isLiteral8 } = header
    const isMessage = isMessageLiteral(this.#command)
    if (isMessage && size > this.#limits.maxMessageBytes)
      throw new SyntaxFailure('TOO_BIG', 'The literal is larger than this server accepts')
    // Answered BAD (RFC 3501 §2.2.1): a NO to SELECT or SEARCH would have to change something.
    if (!isMessage && size > this.#limits.maxLiteralBytes)
      throw new SyntaxFailure('TOO_LONG', 'The literal is larger than this server accepts')
    this.#header = header
    if (isMessage) {
      if (this.#passedBytes + this.#lineBytes > this.#limits.maxAppendLineBytes)
        throw new SyntaxFailure('TOO_LONG', 'The command is longer than this server accepts')
      this.#state = STATE.decision
      const literal = { size, isNonSync, isLiteral8 }
      return { kind: 'message', command: this.#command.raw, literal }
    }
    if (this.#lineBytes + this.#literalBytes + size > this.#limits.maxCommandBytes)
      throw new SyntaxFailure('TOO_LONG', 'The command is larger than this server accepts')
    this.#literalBytes += size
    this.#literal = new BufferedLiteral(size)
    this.#state = STATE.literal
    return isNonSync ? null : { kind: 'continue' }
  }

  /**
   * @param {Buffer} bytes - of a buffered literal that is whole
   * @returns {ReceiverEvent | null}
   */
  #onLiteral(bytes) {
    const { gap, isLiteral8 } = this.#requireHeader()
    this.#header = null
    this.#literal = null
    if (bytes.includes(0)) {
      const event = this.#failure(badSyntax('NUL is not allowed'))
      this.#skip(0)
      return event
    }
    this.#command.addLiteral({
      type: 'string',
      bytes,
      form: isLiteral8 ? 'literal8' : 'literal',
      gap
    })
    this.#state = STATE.line
    return null
  }

  /** @returns {ReceiverEvent | null} */
  #readMessage() {
    const chunk = this.#remaining === 0 ? Buffer.alloc(0) : this.#input.take(this.#remaining)
    if (chunk === null) return null
    this.#remaining -= chunk.length
    const isLast = this.#remaining === 0
    if (isLast) {
      const { size, isLiteral8, gap } = this.#requireHeader()
      this.#command.addLiteral({ type: 'streamed', size, isLiteral8, gap })
      this.#header = null
      this.#passedBytes += this.#lineBytes
      this.#lineBytes = 0
      this.#state = STATE.line
    }
    return { kind: 'messageData', chunk, isLast }
  }

  /** @returns {ReceiverEvent} */
  #onLongLine() {
    const isSkipping = this.#state === STATE.skipLine
    if (!isSkipping && !this.#isLineExpected && this.#command.tag === null) {
      const start = this.#input.peekPartial(this.#limits.maxLineBytes)
      const tag = findTag(start)
      // A tag that fills the line may be the beginning of a longer one.
      this.#command.tag = tag?.length === start.length ? null : tag
    }
    const event = this.#failure(new SyntaxFailure('TOO_LONG', 'The line is too long'), {
      isFatal: true
    })
    this.#die()
    return event
  }

  /**
   * Ends a command that a line made impossible, and finds out where the next one begins.
   * @param {SyntaxFailure} failure
   * @param {Buffer} line - the whole line
   * @returns {ReceiverEvent}
   */
  #fail(failure, line) {
    const literal = findTrailingLiteral(line)
    // The line may be a login, with a backslash in its password that the client has not escaped.
    line.fill(0)
    if (literal === null || !literal.isNonSync) {
      const event = this.#failure(failure)
      this.#reset()
      return event
    }
    const isFatal = literal.size > this.#limits.maxSkipBytes
    const event = this.#failure(failure, { isFatal })
    if (isFatal) this.#die()
    else this.#skip(literal.size)
    return event
  }

  /**
   * Skips the literals that a line announces: one of a refused command, or one that began a command where a `line` event was
   * expected.
   * @param {Buffer} line
   * @returns {Extract<ReceiverEvent, { kind: 'error' }> | null} an event only when the connection cannot go on
   */
  skipAfter(line) {
    const literal = findTrailingLiteral(line)
    this.#reset()
    if (literal === null || !literal.isNonSync) return null
    if (literal.size <= this.#limits.maxSkipBytes) {
      this.#skip(literal.size)
      return null
    }
    const event = this.#failure(
      new SyntaxFailure('TOO_BIG', 'The literal is larger than this server accepts'),
      { isFatal: true }
    )
    this.#die()
    return event
  }

  /**
   * @param {SyntaxFailure} failure
   * @param {{ isFatal?: boolean }} [options] - `isFatal`: the rest of the input cannot be told from data
   * @returns {Extract<ReceiverEvent, { kind: 'error' }>}
   */
  #failure(failure, { isFatal = false } = {}) {
    return { kind: 'error', tag: this.#command.tag, failure, isFatal }
  }

  /** @returns {LiteralHeader} */
  #requireHeader() {
    if (this.#header === null) throw new Error('No literal is in progress')
    return this.#header
  }

  /** Drops what the command held, and expects a new one. */
  #reset() {
    this.#command = new CommandLine(this.#limits)
    this.#lineBytes = 0
    this.#passedBytes = 0
    this.#literalBytes = 0
    this.#header = null
    this.#literal = null
    this.#remaining = 0
    this.#state = STATE.line
  }

  /**
   * Drops the rest of the command, beginning with a literal's bytes.
   * @param {number} size - bytes of the literal that are still to come
   */
  #skip(size) {
    this.#reset()
    this.#remaining = size
    this.#state = STATE.skipLiteral
  }

  #die() {
    this.#reset()
    this.#input.takeAll()
    this.#state = STATE.dead
  }
}
