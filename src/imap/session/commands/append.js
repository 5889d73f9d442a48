/**
 * APPEND puts messages at the end of a mailbox. Each is checked before its bytes are asked for, streams into the store
 * as it comes, and all of one command are added in one transaction (MULTIAPPEND: all or none).
 *
 * State: authenticated, selected; read-write.
 * Command: RFC 3501 §6.3.11, RFC 9051 §6.3.12; RFC 3502 §6.3.11 (MULTIAPPEND), RFC 6855 §4 (UTF8), RFC 7888 §4
 * (LITERAL+), RFC 3516 §4.4 (literal8). Responses: RFC 4315 §3 (APPENDUID), RFC 3501 §7.1 (TRYCREATE),
 * RFC 9051 §6.3.12 (OLDNAME).
 */
import { MailError } from '../../../errors.js'
import { Slicer } from '../../../support/slicer.js'
import { appendUid } from '../../protocol/compile/response-code.js'
import { continuation } from '../../protocol/compile/status-response.js'
import { parseAppendStart, parseCommand } from '../../protocol/parse/index.js'
import { badSyntax } from '../../protocol/syntax-failure.js'
import { showableContent } from '../binary-append.js'
import { ConnectionClosed } from '../connection.js'
import { oldNameOf, tellOldName } from '../mailbox-line.js'
import { AUTHENTICATED } from '../states.js'

/** @import { CommandArguments } from '../../protocol/parse/index.js' */
/** @import { ContentWriter } from '../../../store/content-writer.js' */
/** @import { StagedContent } from '../../../store/staged-content.js' */
/** @import { ReceiverEvent } from '../../protocol/receiver.js' */
/** @import { RawCommand } from '../../protocol/token.js' */
/** @import { Command, CommandResult, LateResult } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @typedef {Extract<ReceiverEvent, { kind: 'message' }>} MessageEvent */

/** A message that comes unasked (non-synchronising) is checked beforehand only when it has more bytes. */
const SMALL_BYTES = 64 * 1024
/** When so many bytes of a command are in memory, its next messages go into the file at once. */
const KEPT_BYTES = 4 * 1024 * 1024
/** A command holds at most so many bytes in all: of messages in the file, what was made of their headers is still held. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
/** A command lasts as long as its messages take to come; every so many ms the store hears that it still does. */
const KEEP_INTERVAL_MS = 10 * 60 * 1000
/** A command has at most so many messages: one transaction adds them all, for which other writers of the mailbox wait. */
const MAX_MESSAGES = 10_000

/** @type {Command} */
export const append = {
  name: 'APPEND',
  states: AUTHENTICATED,
  allowsExpunge: true,
  mayLag: true,
  isStreaming: true,
  isOverlapping: true,
  async run(session, _args, { message }) {
    if (message === null) throw badSyntax('APPEND needs a message literal')
    const dialogue = new AppendDialogue(session)
    try {
      return await dialogue.run(message)
    } catch (error) {
      dialogue.skipRest()
      await dialogue.drop()
      throw error
    }
  }
}

/** One APPEND from its first literal to its end. */
class AppendDialogue {
  /** @type {StagedContent[]} */
  #contents = []
  /** @type {ContentWriter[]} */
  #writers = []
  /** Bytes of memory that the complete messages take. */
  #heldBytes = 0
  /** Whether the command's end has been read, or will not come. */
  #isOver = false
  #session
  /** When the store last heard of the contents, wall-clock milliseconds. */
  #keptAtMs
  #slicer = new Slicer()

  /** @param {Session} session */
  constructor(session) {
    this.#session = session
    this.#keptAtMs = session.context.clock.nowMs()
  }

  /**
   * @param {MessageEvent} first
   * @returns {Promise<CommandResult | LateResult>}
   */
  async run(first) {
    /** @type {MessageEvent | RawCommand} */
    let next = first
    while ('kind' in next) {
      if (next.literal.size === 0) return await this.#refuseEmpty()
      await this.#prepare(next)
      next = await this.#takeMessage(next)
      // Hundreds of small messages may have come at once.
      if ('kind' in next) await this.#slicer.breathe()
    }
    return this.#finishCommand(next)
  }

  /**
   * Ends the command at an empty literal, by which a client calls it off as a whole (RFC 3502 §6.3.11).
   *
   * @returns {Promise<CommandResult>}
   */
  async #refuseEmpty() {
    this.skipRest()
    await this.drop()
    return { status: 'NO', text: 'A message cannot be empty; nothing was appended' }
  }

  /**
   * Refuses a message, where it must be, before a byte of it has come. A small message that comes without being asked for is on
   * its way already: the transaction finds the same faults, and most messages have none.
   *
   * @param {MessageEvent} event
   */
  async #prepare({ command, literal }) {
    const session = this.#session
    session.requireWriteScope()
    const { mailbox } = parseAppendStart(command, { isUtf8: session.enabled.isUtf8 })
    if (!literal.isNonSync || literal.size > SMALL_BYTES)
      await session.store.checkAppend({ mailboxName: mailbox, sizeBytes: literal.size })
    // The first message seemed to come alone, so what is derived from it was left for later. Messages that come together are
    // stored with theirs at once.
    const [first] = this.#contents
    if (first !== undefined && this.#contents.length === 1) {
      first.make()
      this.#heldBytes = first.heldBytes
    }
    const isFar = this.#heldBytes >= KEPT_BYTES
    this.#writers.push(
      await session.store.stageContent({
        sizeHint: literal.size,
        ...(isFar && { keptBytes: 0 }),
        isAlone: this.#contents.length === 0 && session.replies.isIdle
      })
    )
  }

  /**
   * @param {MessageEvent} event
   * @returns {Promise<MessageEvent | RawCommand>} the next message's literal, or the complete command
   */
  async #takeMessage({ literal }) {
    const session = this.#session
    const writer = /** @type {ContentWriter} */ (this.#writers.at(-1))
    session.connection.receiver.acceptMessage()
    if (!literal.isNonSync) {
      // A client that waits for this has sent nothing else meanwhile: it hears of the commands before it first.
      await session.replies.settle()
      session.write(continuation('Ready for the message'))
    }
    let hasNul = false
    for (;;) {
      const event = await this.#nextEvent()
      if (event.kind === 'messageData') {
        if (event.chunk.length > 0) await writer.write(event.chunk)
        // More of the message may be here already, and every byte of it is looked at.
        await this.#slicer.breathe()
        await this.#keepOthers()
        hasNul ||= literal.isLiteral8 && event.chunk.includes(0)
        session.connection.releaseInput(event.chunk)
        if (event.isLast) this.#keep(await this.#finish(writer, hasNul))
      } else if (event.kind === 'message') {
        return event
      } else if (event.kind === 'command') {
        this.#isOver = true
        return event.command
      } else if (event.kind === 'error') {
        this.#isOver = true
        throw session.failureOf(event)
      } else if (event.kind === 'continue') session.write(continuation('OK'))
    }
  }

  /** Keeps the complete messages, which show the store no sign of life by themselves. */
  async #keepOthers() {
    const { context, store } = this.#session
    const nowMs = context.clock.nowMs()
    if (nowMs - this.#keptAtMs < KEEP_INTERVAL_MS) return
    this.#keptAtMs = nowMs
    await store.keepStaged(this.#contents)
  }

  /**
   * @param {StagedContent} content
   * @throws {MailError} LIMIT
   */
  #keep(content) {
    this.#contents.push(content)
    this.#heldBytes += content.heldBytes
    if (this.#heldBytes > MAX_HELD_BYTES || this.#contents.length > MAX_MESSAGES)
      throw new MailError('LIMIT')
  }

  /**
   * @param {ContentWriter} writer
   * @param {boolean} hasNul - in a literal8
   * @returns {Promise<StagedContent>}
   */
  async #finish(writer, hasNul) {
    const content = await writer.finish()
    if (!hasNul) return content
    const { store } = this.#session
    const shown = await showableContent(store, writer, content, (second) => {
      this.#writers.push(second)
    })
    if (shown !== content) await writer.abort()
    return shown
  }

  /**
   * @param {RawCommand} raw - complete
   * @returns {LateResult}
   */
  #finishCommand(raw) {
    const { args } = parseCommand(raw, { isUtf8: this.#session.enabled.isUtf8 })
    const { mailbox, messages } = /** @type {CommandArguments['APPEND']} */ (args)
    const contents = this.#contents.map((content, index) => ({
      content,
      flags: messages[index]?.flags ?? [],
      internalDate: messages[index]?.internalDate ?? null
    }))
    const session = this.#session
    const oldName = oldNameOf(session, raw.tokens[0], mailbox)
    return {
      later: this.#commit(mailbox, contents),
      finish: async (result) => {
        await tellOldName(session, mailbox, oldName)
        return result
      },
      heldBytes: this.#heldBytes,
      addsMessages: true
    }
  }

  /**
   * @param {string} mailbox
   * @param {import('../../../store/append.js').AppendedMessage[]} messages
   * @returns {Promise<CommandResult>}
   */
  async #commit(mailbox, messages) {
    const { origin, store } = this.#session
    try {
      const { uidValidity, uids } = await store.appendMessages(mailbox, messages, { origin })
      return { code: appendUid({ uidValidity, uids }), text: 'APPEND completed' }
    } catch (error) {
      await this.drop()
      throw error
    }
  }

  /** @returns {Promise<import('../connection.js').ConnectionEvent>} */
  async #nextEvent() {
    const session = this.#session
    const event = await session.connection.nextEvent({ deadlineMs: session.deadlineMs })
    if (event.kind === 'closed' || event.kind === 'timeout') {
      this.#isOver = true
      if (event.kind === 'closed') throw new ConnectionClosed()
      session.end('Autologout, the message did not come')
      throw badSyntax('The message did not come')
    }
    return event
  }

  /** Reads past the rest of the command, so that no byte of a message is taken for a command. */
  skipRest() {
    if (!this.#isOver) this.#session.connection.receiver.rejectMessage()
    this.#isOver = true
  }

  /** Gives up the messages that were staged and not appended. */
  drop() {
    return this.#session.store.abortStaged(this.#writers)
  }
}
