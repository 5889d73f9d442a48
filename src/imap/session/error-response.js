/**
 * The only place where a failure becomes a reply. What the client reads comes from the tables of codes,
 * never from an error's message, detail or cause.
 *
 * | thrown | reply | then |
 * | --- | --- | --- |
 * | SyntaxFailure | BAD or NO, as its own table says | a strike, if BAD |
 * | WrongState | BAD | a strike |
 * | MailError | NO with the code of REPLIES | go on: a damaged page may be one message of thousands, and the store
 *   itself gives a file up that it cannot go on with |
 * | ConnectionClosed | none | the session ends |
 * | anything else | NO [SERVERBUG] with a reference that the log has too | go on |
 */
import { randomBytes } from 'node:crypto'
import { ERROR_TABLE, MailError } from '../../errors.js'
import { CODE } from '../protocol/compile/response-code.js'
import { SyntaxFailure } from '../protocol/syntax-failure.js'

/** @import { ErrorCode } from '../../errors.js' */
/** @import { ResponseCode } from '../protocol/compile/response-code.js' */
/** @import { Session } from './session.js' */

/** A command that is known, but not valid in the session's state (RFC 9051 §3). */
export class WrongState extends Error {
  /** @param {string} text - for the client */
  constructor(text) {
    super(text)
    this.name = 'WrongState'
    this.text = text
  }
}

/**
 * @typedef {object} Reply - a tagged reply
 * @property {'OK' | 'NO' | 'BAD'} status
 * @property {ResponseCode | null} code
 * @property {string} text
 */

/**
 * @typedef {object} FailureReply
 * @property {Reply} reply
 * @property {string | null} reference - what the log line of an unexpected error is found by
 */

/**
 * The response code of each MailError (RFC 5530 §3, RFC 9051 §7.1); null is a NO without one.
 *
 * @type {Readonly<Partial<Record<ErrorCode, ResponseCode | null>>>}
 */
const REPLIES = {
  MAILBOX_NOT_FOUND: CODE.nonExistent,
  MAILBOX_EXISTS: CODE.alreadyExists,
  MAILBOX_HAS_CHILDREN: CODE.hasChildren,
  CANNOT: CODE.cannot,
  USE_REFUSED: CODE.useAttr,
  MESSAGE_GONE: CODE.expungeIssued,
  READ_ONLY: CODE.readOnly,
  NO_PERMISSION: CODE.noPerm,
  OVER_QUOTA: CODE.overQuota,
  TOO_BIG: CODE.tooBig,
  LIMIT: CODE.limit,
  UNKNOWN_TRANSFER_ENCODING: CODE.unknownCte,
  AUTHENTICATION_FAILED: CODE.authenticationFailed,
  THROTTLED: CODE.unavailable,
  ACCOUNT_NOT_FOUND: CODE.authenticationFailed,
  ACCOUNT_EXISTS: CODE.alreadyExists,
  ACCOUNT_DISABLED: CODE.authenticationFailed,
  CREDENTIAL_NOT_FOUND: CODE.authenticationFailed,
  ADDRESS_INVALID: CODE.authenticationFailed,
  MECHANISM_UNKNOWN: null,
  TLS_REQUIRED: CODE.privacyRequired,
  KEY_REJECTED: CODE.corruption,
  KEY_UNAVAILABLE: CODE.unavailable,
  PEPPER_MISSING: CODE.unavailable,
  ACCOUNT_DAMAGED: CODE.corruption,
  KEYS_CONTRADICT: CODE.corruption,
  FILE_REFUSED: CODE.unavailable,
  FILE_TOO_NEW: CODE.unavailable,
  SCHEMA_MISMATCH: CODE.unavailable,
  DIRECTORY_DAMAGED: CODE.unavailable,
  BUSY: CODE.inUse,
  DISK_FULL: CODE.unavailable,
  NOT_DURABLE: CODE.unavailable,
  SHUTTING_DOWN: CODE.unavailable,
  OVERLOADED: CODE.unavailable
}

/**
 * Errors that the operator should hear of, whatever the client does about them. PEPPER_MISSING is not among them: the login
 * itself raises that alarm, once for each account.
 */
const ALARMING = new Set([
  'ACCOUNT_DAMAGED',
  'KEYS_CONTRADICT',
  'KEY_REJECTED',
  'DISK_FULL',
  'NOT_DURABLE',
  'FILE_REFUSED',
  'FILE_TOO_NEW',
  'SCHEMA_MISMATCH',
  'DIRECTORY_DAMAGED'
])

/** Commands whose missing mailbox the client may create and then try again (RFC 3501 §7.1). */
const CREATES_TARGET = new Set(['APPEND', 'COPY', 'UID COPY', 'MOVE', 'UID MOVE'])

/**
 * @param {unknown} error
 * @param {object} options
 * @param {string} options.commandName
 * @param {{ warn: (fields: object, text: string) => void, error: (fields: object, text: string) => void }} options.logger
 * @returns {FailureReply}
 */
export function replyToFailure(error, { commandName, logger }) {
  if (error instanceof SyntaxFailure) {
    return plain(replyToSyntaxFailure(error))
  }
  if (error instanceof WrongState)
    return plain({ status: 'BAD', code: CODE.clientBug, text: error.text })
  if (error instanceof MailError && error.code in REPLIES) {
    if (ALARMING.has(error.code))
      logger.error({ command: commandName, err: error }, 'storage failure')
    const { text } = ERROR_TABLE[error.code]
    const code = REPLIES[error.code] ?? null
    const isTarget = error.code === 'MAILBOX_NOT_FOUND' && CREATES_TARGET.has(commandName)
    return plain({ status: 'NO', code: isTarget ? CODE.tryCreate : code, text })
  }
  const reference = randomBytes(6).toString('hex')
  logger.error({ command: commandName, reference, err: error }, 'unexpected failure')
  const text = `Something went wrong in the server, reference ${reference}`
  return { ...plain({ status: 'NO', code: CODE.serverBug, text }), reference }
}

/**
 * The same for a session, whose owner hears of what nobody has expected.
 *
 * @param {Pick<Session, 'logger' | 'context'>} session
 * @param {unknown} error
 * @param {string} commandName
 * @returns {Reply}
 */
export function failureReply({ logger, context }, error, commandName) {
  const { reply, reference } = replyToFailure(error, { commandName, logger })
  if (reference !== null) context.onUnexpectedError(error)
  return reply
}

/**
 * @param {SyntaxFailure} failure
 * @returns {Reply} as the protocol's own table says
 */
export function replyToSyntaxFailure({ reply: { status, responseCode }, text }) {
  return { status, code: /** @type {ResponseCode | null} */ (responseCode), text }
}

/**
 * @param {Reply} reply
 * @returns {FailureReply}
 */
function plain(reply) {
  return { reply, reference: null }
}
