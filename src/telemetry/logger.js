/**
 * The log: JSON lines by pino, with a redaction list.
 *
 * Two nets keep secrets and mail out of it. Callers log codes, ids and numbers, never content; and what
 * slips through under one of the names below is replaced before it is written. An error is logged as its
 * code, detail and stack, never with the fields that a library may have hung on it.
 */
import { pino, destination, stdSerializers } from 'pino'

/** Names whose values never reach a log line, at any depth down to three. */
export const REDACTED_NAMES = Object.freeze([
  'password',
  'newPassword',
  'secret',
  'key',
  'masterKey',
  'databaseKey',
  'sealKey',
  'pepper',
  'recoveryCode',
  'appPassword',
  'token',
  'authorization',
  'initialResponse',
  'subject',
  'from',
  'to',
  'cc',
  'bcc',
  'sender',
  'recipient',
  'address',
  'username',
  'mailbox',
  'mailboxName',
  'folderName',
  'query',
  'value',
  'message',
  'body',
  'headers'
])

const REDACTED_PATHS = REDACTED_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/**
 * @typedef {import('pino').Logger} Logger
 */

/**
 * @param {unknown} error
 * @returns {Record<string, unknown>} what of an error may be logged
 */
function serializeError(error) {
  if (!(error instanceof Error)) return { type: typeof error }
  const { type, stack } = stdSerializers.err(error)
  const { code, detail } = /** @type {{ code?: unknown, detail?: unknown }} */ (error)
  return {
    type,
    stack,
    ...(typeof code === 'string' && { code }),
    ...(typeof detail === 'string' && { detail }),
    ...(error.cause !== undefined && { cause: serializeError(error.cause) })
  }
}

/** Lines that could not be written wait for the next one, at most so many bytes; further lines are lost until they are out. */
const MAX_WAITING_BYTES = 1024 * 1024

/** @returns {import('pino').DestinationStream} */
function standardError() {
  const stream = destination({ dest: 2, sync: true, maxLength: MAX_WAITING_BYTES })
  // Without a listener the error would end the process: a full disk below the log must not end everybody's sessions.
  stream.on('error', () => {})
  let isTrying = false
  stream.on('drop', (line) => {
    if (isTrying) return
    isTrying = true
    // With as many waiting, a line is dropped without a try: nobody would find that there is room again.
    if (stream.write('')) stream.write(line)
    isTrying = false
  })
  return stream
}

/**
 * @param {object} options
 * @param {string} options.level - of pino's levels
 * @param {import('pino').DestinationStream} [options.stream] - standard error by default, so that standard
 *   output stays free for what a person or a script asked for
 * @returns {Logger}
 */
export function createLogger({ level, stream = standardError() }) {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError, error: serializeError },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' }
    },
    stream
  )
}
