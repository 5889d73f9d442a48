/**
 * From a command's tokens to its tagged reply: state check, parsing, running, news, reply, log line.
 *
 * A command whose work goes on by itself (an APPEND or a STORE that waits for the disk) gives its result later: the next one
 * may be taken in meanwhile if it is such a command too, and the replies still go out in order.
 */
import { counters } from '../../telemetry/counters.js'
import { parseCommand } from '../protocol/parse/index.js'
import { SyntaxFailure } from '../protocol/syntax-failure.js'
import { ConnectionClosed } from './connection.js'
import { failureReply, WrongState } from './error-response.js'
import { COMMANDS } from './commands/index.js'
import { tellNews } from './mailbox-news.js'
import { SELECTED } from './states.js'

/** @import { ResponseCode } from '../protocol/compile/response-code.js' */
/** @import { RawCommand } from '../protocol/token.js' */
/** @import { ReceiverEvent } from '../protocol/receiver.js' */
/** @import { Reply } from './error-response.js' */
/** @import { Session, SessionState } from './session.js' */

/**
 * @typedef {object} CommandCall
 * @property {string} tag
 * @property {RawCommand} raw
 * @property {boolean} isUid - whether it is the UID form of a command
 * @property {Extract<ReceiverEvent, { kind: 'message' }> | null} message - for a command that streams: the literal that waits
 * @property {boolean} isTaken - whether the command has taken charge of that literal, and of all that follows it
 */

/**
 * @typedef {object} CommandResult - what `OK` says
 * @property {string} text
 * @property {ResponseCode | null} [code]
 * @property {Reply['status']} [status] - OK unless told otherwise
 * @property {boolean} [isAnswered] - the command has written its own tagged reply
 * @property {boolean} [holdsExpunges] - untagged EXPUNGE must wait, although other commands of that name allow it
 *
 * @typedef {object} LateResult - of a command that has been read to its end and only waits
 * @property {Promise<any>} later
 * @property {(done: any) => CommandResult | Promise<CommandResult>} finish - makes the result of what `later` gave; called when
 *   the commands before it have been answered, and may write what goes before the tagged reply
 * @property {number} heldBytes - at most so many bytes lie in memory until then
 * @property {boolean} [addsMessages] - the mailbox's last message may be another one by then (RFC 9051 §5.5: a command that
 *   names messages waits for it)
 */

/**
 * One command, or its UID form. `args` is what the parser of that name returns.
 *
 * @typedef {object} Command
 * @property {string} name
 * @property {readonly SessionState[]} states
 * @property {boolean} allowsExpunge - whether untagged EXPUNGE may precede the tagged reply (RFC 3501 §7.4.1)
 * @property {boolean} [isStreaming] - takes message literals before the command is complete, and parses for itself
 * @property {boolean} [isOverlapping] - may begin while other overlapping commands wait for their results: it tells nothing
 *   before its own has come
 * @property {boolean} [mayLag] - works on what the client knows: changes that other processes have just made may be told later
 * @property {boolean} [leavesMailbox] - is of use also where the mailbox cannot be read on, so no news is taken in before it
 * @property {boolean} [asksForNames] - a name that cannot be decoded is a question with an empty answer, no failure
 * @property {(session: Session, raw: RawCommand, failure: SyntaxFailure) => void} [onSyntaxFailure] - before the reply
 * @property {(session: Session, args: any, call: CommandCall) => Promise<CommandResult | LateResult>} run
 */

/**
 * The slot in which each command is counted.
 *
 * @type {ReadonlyMap<Command | undefined, number>}
 */
const COUNTER_SLOTS = new Map([
  [undefined, counters.commands.slotOf('unknown')],
  ...[...COMMANDS.values()].map(
    (command) => /** @type {const} */ ([command, counters.commands.slotOf(command.name)])
  )
])

/**
 * Runs one command and answers it.
 *
 * @param {Session} session
 * @param {Extract<ReceiverEvent, { kind: 'command' | 'message' }>} event
 * @returns {Promise<Reply['status']>} how it was answered; OK when it will be answered later
 * @throws {ConnectionClosed} when the client has gone
 */
export async function dispatch(session, event) {
  const raw = event.command
  const startedAt = performance.now()
  const command = COMMANDS.get(raw.name)
  const call = {
    tag: raw.tag,
    raw,
    isUid: raw.name.startsWith('UID '),
    message: event.kind === 'message' ? event : null,
    isTaken: false
  }
  const { replies, selected } = session
  if (!replies.isIdle) {
    const namesMessages = command?.states === SELECTED
    const mayOverlap = command?.isOverlapping === true && !(namesMessages && replies.addMessages)
    await (mayOverlap ? replies.makeRoom() : replies.settle())
  }
  session.runningTag = raw.tag
  selected?.hold()
  /** @type {Outcome} */
  let outcome
  try {
    const result = await run(session, command, call)
    if ('later' in result) {
      const { later, finish, heldBytes, addsMessages = false } = result
      // `later` may fail before its turn has come, and Node ends the process for a rejection that nobody waits for yet.
      later.catch(() => {})
      if (replies.isIdle) selected?.beginLateReplies()
      replies.add({ heldBytes, addsMessages }, async () => {
        const finished = later.then(finish).then(toOutcome)
        const ended = await finished.catch((error) => failed(session, error, raw))
        await answer(session, command, call, ended, startedAt)
      })
      return 'OK'
    }
    outcome = toOutcome(result)
  } catch (error) {
    outcome = failed(session, error, raw)
    // The literal's bytes must not be taken for commands.
    if (call.message !== null && !call.isTaken) session.connection.receiver.rejectMessage()
  } finally {
    selected?.unhold()
  }
  // Commands that began before this one are answered before it.
  if (!replies.isIdle) await replies.settle()
  await answer(session, command, call, outcome, startedAt)
  return outcome.reply.status
}

/** @typedef {{ reply: Reply, isAnswered: boolean, holdsExpunges: boolean }} Outcome */

/**
 * @param {CommandResult} result
 * @returns {Outcome}
 */
const toOutcome = (result) => {
  const { status = 'OK', code = null, text, isAnswered = false, holdsExpunges = false } = result
  return { reply: { status, code, text }, isAnswered, holdsExpunges }
}

/**
 * @param {Session} session
 * @param {unknown} error
 * @param {RawCommand} raw
 * @returns {Outcome}
 * @throws {ConnectionClosed}
 */
function failed(session, error, raw) {
  if (error instanceof ConnectionClosed) throw error
  return { reply: failureReply(session, error, raw.name), isAnswered: false, holdsExpunges: false }
}

/**
 * Tells the news and the tagged reply.
 *
 * @param {Session} session
 * @param {Command | undefined} command
 * @param {CommandCall} call
 * @param {Outcome} outcome
 * @param {number} startedAt - of the command, monotonic ms
 */
async function answer(session, command, { raw, isUid }, outcome, startedAt) {
  const { reply, isAnswered, holdsExpunges } = outcome
  if (!isAnswered) {
    const allowsExpunge = command?.allowsExpunge === true && !holdsExpunges
    if (session.hasNews) await tellNews(session, { allowsExpunge, isUid }, raw.name)
    session.tagged(raw.tag, reply)
  }
  const ms = performance.now() - startedAt
  const slot = /** @type {number} */ (COUNTER_SLOTS.get(command))
  counters.commands.record(slot, reply.status, command?.name === 'IDLE' ? null : ms)
  session.logger.debug(
    {
      command: command === undefined ? 'unknown' : command.name,
      result: reply.status,
      code: reply.code?.split(' ', 1)[0],
      ms: Math.round(ms)
    },
    'command'
  )
}

/**
 * @param {Session} session
 * @param {Command | undefined} command
 * @param {CommandCall} call
 * @returns {Promise<CommandResult | LateResult>}
 */
async function run(session, command, call) {
  if (command !== undefined && !command.states.includes(session.state)) {
    throw new WrongState(wrongStateText(session.state, command.states))
  }
  const isLeaving = command?.leavesMailbox === true
  if (session.state !== 'notAuthenticated' && !isLeaving) {
    const polling = session.pollOtherProcesses(command?.mayLag === true)
    if (polling !== null) await polling
  }
  // The view could not be brought up to the file's state: its messages must not be shown as if they were all.
  const failure = session.selected?.view.failure ?? null
  if (failure !== null && command?.states === SELECTED && !isLeaving) throw failure
  if (command?.isStreaming === true && call.message !== null) {
    call.isTaken = true
    return await command.run(session, null, call)
  }
  // Parsing also tells an unknown command; a streaming one without its literal is refused by its parser.
  const parsed = parse(session, command, call.raw)
  if (parsed === null) return { text: `${call.raw.name} completed` }
  if (command === undefined) throw new WrongState('This server does not do that')
  return await command.run(session, parsed.args, call)
}

/**
 * @param {Session} session
 * @param {Command | undefined} command
 * @param {RawCommand} raw
 * @returns {{ args: object } | null} null: it asks for a name that no mailbox can have, and may
 * @throws {SyntaxFailure}
 */
function parse(session, command, raw) {
  try {
    return parseCommand(raw, { isUtf8: session.enabled.isUtf8 })
  } catch (error) {
    const isBadName = error instanceof SyntaxFailure && error.code === 'BAD_MAILBOX_NAME'
    if (isBadName && command?.asksForNames === true) return null
    if (error instanceof SyntaxFailure) command?.onSyntaxFailure?.(session, raw, error)
    throw error
  }
}

/**
 * @param {SessionState} state
 * @param {Command['states']} wanted
 * @returns {string}
 */
function wrongStateText(state, wanted) {
  if (state === 'notAuthenticated') return 'Log in first'
  return wanted.includes('selected') ? 'Select a mailbox first' : 'Already logged in'
}
