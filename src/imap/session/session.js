/**
 * One client's session: the states of RFC 3501 §3, what the client has enabled and selected, and what it is told unasked. Its
 * course, one command after the other, is in serve-session.js.
 *
 * Invariants:
 * - commands run one at a time and are answered in the order in which they came; only an APPEND or a STORE is taken in
 *   while those before it wait for the disk (`replies`);
 * - untagged EXPUNGE goes out only before the tagged reply of a command that allows it (RFC 3501 §7.4.1), or in IDLE;
 * - a change is told only after the store has made it durable: the view publishes it no earlier;
 * - while a command runs, the slots of the selected view stay in place (`SelectedMailbox.hold`).
 */
import { advertisedCapabilities } from '../protocol/capability.js'
import { highestModSeq } from '../protocol/compile/response-code.js'
import { tagged, untagged } from '../protocol/compile/status-response.js'
import { limitsAfterLogin } from '../protocol/limits.js'
import { MailError } from '../../errors.js'
import { ConnectionClosed } from './connection.js'
import { Deadlines } from './deadlines.js'
import { Enabled } from './enabled.js'
import { ForeignNews } from './foreign-news.js'
import { LateReplies } from './late-replies.js'
import { sessionFacts } from './session-facts.js'
import { SignsOfLife } from './signs-of-life.js'
import { Strikes } from './strikes.js'

/** @import { Connection } from './connection.js' */
/** @import { ImapServerContext, Login, RemoteLogin } from './server-context.js' */
/** @import { SelectedMailbox } from './selected-mailbox.js' */
/** @import { SessionFacts } from './session-facts.js' */
/** @import { AccountStore } from '../../store/account-store.js' */
/** @import { ResponseCode } from '../protocol/compile/response-code.js' */
/** @import { ReceiverEvent } from '../protocol/receiver.js' */
/** @import { SyntaxFailure } from '../protocol/syntax-failure.js' */
/** @import { Reply } from './error-response.js' */

/** @typedef {'notAuthenticated' | 'authenticated' | 'selected' | 'logout'} SessionState */

/** A session. */
export class Session {
  /** @type {SessionState} */
  state = 'notAuthenticated'
  /** What the client has asked for beyond RFC 3501. */
  enabled = new Enabled()
  /** Whether an IDLE runs, so that the listener polls and reminds. */
  isIdling = false
  /**
   * What the client says it is; for its owner's eyes alone.
   *
   * @type {string | null}
   */
  clientName = null
  /** @type {SelectedMailbox | null} */
  selected = null
  /** How many keywords the last FLAGS response named: where there are more, FLAGS is sent again before a FETCH may show them. */
  toldKeywords = 0
  /** @type {Login | null} */
  #login = null
  /** @type {RemoteLogin | null} */
  #remote = null
  /** @type {string | null} */
  #byeText = null
  #signsOfLife = new SignsOfLife()
  strikes = new Strikes()
  /** Replies of commands that wait for the disk. */
  replies = new LateReplies((error) => this.fail(error))
  /** The tag of the command that runs. */
  runningTag = ''
  #openedAtMs
  #deadlines
  #foreignNews = new ForeignNews()

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {ImapServerContext} options.context
   */
  constructor({ connection, context }) {
    this.connection = connection
    this.context = context
    /** What this session's own changes are marked with. */
    this.origin = connection.id
    this.logger = context.logger.child({ connection: connection.id })
    this.#openedAtMs = context.clock.nowMs()
    this.#deadlines = new Deadlines(context.config.imap, context.steadyClock.nowMs())
    this.#setPace(null)
  }

  /** @returns {AccountStore} the account's mail; there is one in every state but the first */
  get store() {
    if (this.#login === null) throw new Error('no store before login')
    return this.#login.store
  }

  /** @returns {string | null} */
  get accountId() {
    return this.#login?.account.id ?? null
  }

  /** @returns {SessionFacts | null} what an operator may know; null before login */
  get facts() {
    if (this.#login === null) return null
    const { clientName, isIdling } = this
    const rest = { startedAtMs: this.#openedAtMs, clientName, isIdling }
    return sessionFacts(this.#login, this.connection, rest)
  }

  /**
   * @param {{ id: string, version: number }} credential
   * @returns {boolean} whether it has logged in with that
   */
  isBy({ id, version }) {
    return this.#login?.credentialId === id && this.#login.credentialVersion === version
  }

  /** @returns {boolean} whether the credential may only read */
  get isReadOnly() {
    return this.#login?.scope === 'read-only'
  }

  /** @returns {number} when a client that says nothing is sent away, ms of the steady clock */
  get deadlineMs() {
    return this.#deadlines.ofSilence(this.context.steadyClock.nowMs())
  }

  /** @returns {string[]} the capabilities that hold now */
  get capabilities() {
    return advertisedCapabilities({
      isAuthenticated: this.state !== 'notAuthenticated',
      isTls: this.connection.isTls,
      isLoginAllowed: this.mayLogIn,
      isTlsAvailable: this.context.tls !== null,
      maxMessageBytes: this.context.config.messages.maxBytes
    })
  }

  /** @returns {boolean} whether a password may cross this connection */
  get mayLogIn() {
    return this.connection.isTls || this.context.isPlaintextAllowed(this.connection.remoteAddress)
  }

  /**
   * @returns {SelectedMailbox}
   * @throws when no mailbox is selected; the dispatcher has checked the state before
   */
  requireSelected() {
    if (this.selected === null) throw new Error('no mailbox is selected')
    return this.selected
  }

  /** @returns {boolean} whether somebody else has deleted the selected mailbox */
  get isAtDeletedMailbox() {
    return this.selected?.view.isDeleted === true
  }

  /** @throws {MailError} NO_PERMISSION when the credential may only read */
  requireWriteScope() {
    if (this.isReadOnly) throw new MailError('NO_PERMISSION')
  }

  /**
   * @returns {SelectedMailbox}
   * @throws {MailError} NO_PERMISSION or READ_ONLY
   */
  requireWritable() {
    this.requireWriteScope()
    const selected = this.requireSelected()
    if (selected.isReadOnly) throw new MailError('READ_ONLY')
    return selected
  }

  /**
   * Queues an untagged OK or BYE.
   *
   * @param {'OK' | 'BYE'} status
   * @param {ResponseCode | null} code
   * @param {string} text
   */
  untagged(status, code, text) {
    this.write(untagged(status, code, text))
  }

  /** @param {Buffer | string} piece */
  write(piece) {
    this.#signsOfLife.noteOutput(this.context.steadyClock.nowMs())
    this.connection.write(piece)
  }

  /** @param {Buffer} bytes - whose memory the caller uses again at once */
  writeCopied(bytes) {
    this.#signsOfLife.noteOutput(this.context.steadyClock.nowMs())
    this.connection.writeCopied(bytes)
  }

  /**
   * Takes in what other processes have written.
   *
   * @param {boolean} mayLag - the command that is to be run asks for no news
   * @returns {Promise<void> | null} null: there is nothing to wait for
   */
  pollOtherProcesses(mayLag) {
    const { inputCount } = this.connection
    return this.#foreignNews.poll(this.store, { inputCount, mayLag })
  }

  /**
   * @param {string} tag
   * @param {Reply} reply
   */
  tagged(tag, { status, code, text }) {
    this.write(tagged(tag, status, code, text))
  }

  /** @param {unknown} error - that nobody has expected: the session ends with it */
  fail(error) {
    if (error instanceof ConnectionClosed) return
    this.logger.error({ err: error }, 'session failed')
    this.context.onUnexpectedError(error)
    this.end('Something went wrong here')
  }

  /**
   * @param {Extract<ReceiverEvent, { kind: 'error' }>} event
   * @returns {SyntaxFailure} to be answered; where the rest of the input cannot be told from data, the session ends
   */
  failureOf({ failure, isFatal }) {
    if (isFatal) this.end('The rest of that command cannot be skipped')
    return failure
  }

  /** Counts a refused login; at the limit the session ends after the reply. */
  countRefusedLogin() {
    if (this.strikes.countRefusedLogin()) this.end('Too many failed logins')
  }

  /**
   * Enters the authenticated state. Where another worker serves the account, the session goes there after the reply.
   *
   * @param {Login | RemoteLogin} login
   */
  logIn(login) {
    const { connection, context } = this
    this.logger = context.logger.child({ connection: connection.id, accountId: login.account.id })
    if ('relay' in login) this.#remote = login
    else {
      this.#login = login
      this.#setPace(login.account.id)
    }
    this.#deadlines.noteLogin()
    this.strikes.noteLogin()
    this.state = 'authenticated'
    connection.receiver.setLimits(limitsAfterLogin(context.config.messages.maxBytes))
  }

  /** @param {string | null} accountId - whose commands and bytes are counted from now on, besides the address's */
  #setPace(accountId) {
    const { connection, context } = this
    connection.dropPace()
    connection.pace = context.paceOf({ remoteAddress: connection.remoteAddress, accountId })
  }

  /**
   * Turns CONDSTORE on for the rest of the session (RFC 7162 §3.1).
   */
  enableCondstore() {
    if (this.enabled.isCondstore) return
    this.enabled.isCondstore = true
    if (this.selected !== null) {
      this.untagged('OK', highestModSeq(this.selected.toldModSeq), 'CONDSTORE is on')
    }
  }

  /** Turns IMAP4rev2 on for the rest of the session, which knows of no \Recent from now on (RFC 9051 §2.3.2). */
  enableRev2() {
    this.enabled.isRev2 = true
    this.selected?.recent.clear()
  }

  /**
   * Enters the selected state.
   *
   * @param {SelectedMailbox} selected
   */
  select(selected) {
    this.selected = selected
    this.state = 'selected'
  }

  /** Back to the authenticated state. */
  unselect() {
    const selected = this.selected
    if (selected === null) return
    this.selected = null
    if (this.state === 'selected') this.state = 'authenticated'
    selected.detach()
    this.store.closeView(selected.view)
  }

  /** @returns {boolean} whether there may be something to tell about the selected mailbox */
  get hasNews() {
    return this.state === 'selected' && this.selected?.hasNews === true
  }

  /**
   * Ends the session as soon as the running command is through.
   *
   * @param {string} text - for the client
   * @param {{ withinMs?: number }} [options] - `withinMs`: after so long the connection is cut, even if a command still runs
   */
  end(text, { withinMs = Infinity } = {}) {
    this.#byeText ??= text
    this.#deadlines.cutAt(this.context.steadyClock.nowMs() + withinMs)
    // A client that is sent away need not wait for its pace.
    this.connection.dropPace()
    this.#remote?.end(this.#byeText)
    this.connection.wake()
  }

  /** @returns {string | null} what the client is told at the end; null: `end` was not called */
  get byeText() {
    return this.#byeText
  }

  /** @returns {boolean} whether `end` was called */
  get isEnding() {
    return this.#byeText !== null
  }

  /** @returns {boolean} whether another worker serves the account */
  get isElsewhere() {
    return this.#remote !== null
  }

  /** Gives the client's socket to the worker that serves the account, until it has closed. */
  async relay() {
    const remote = this.#remote
    if (remote === null || this.connection.isClosed) return
    await remote.relay(this.connection.detach())
    this.#remote = null
  }

  /**
   * Passes the time on: deadlines, and signs of life.
   *
   * @param {number} nowMs
   */
  tick(nowMs) {
    const { connection, context, isIdling, runningTag } = this
    if (this.#deadlines.isOver(nowMs)) connection.destroy()
    connection.tick(nowMs)
    if (connection.hasUnsent) return
    const { isHeldBack, isHalfClosed } = connection
    const { idleReminderMs } = context.config.imap
    const state = { isIdling, isHeldBack, isHalfClosed, idleReminderMs, runningTag }
    const due = this.#signsOfLife.due(nowMs, state)
    if (due !== null) this.untagged('OK', due.code, due.text)
  }

  /**
   * Tells the client from time to time that its command is still at work (RFC 9585 §4).
   *
   * @template Result
   * @param {() => Promise<Result>} work - writes nothing to the client
   * @returns {Promise<Result>}
   */
  async whileWorking(work) {
    return await this.#signsOfLife.whileWorking(this.context.steadyClock.nowMs(), work)
  }

  /** Gives up what the session holds of its account; called once, at its end. */
  async leave() {
    this.connection.dropPace()
    try {
      this.unselect()
    } finally {
      const login = this.#login ?? this.#remote
      this.#login = null
      this.#remote = null
      if (login !== null) await login.release()
    }
  }
}
