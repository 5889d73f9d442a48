/**
 * Turns what was thrown into one clear line and an exit code. What another server said may be in it.
 */
import { CommanderError } from 'commander'
import { toMailError } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { CliError } from './cli-error.js'
import { explainRefusedFile } from './file-refused.js'
import { plainLines } from './plain-text.js'

/** Exit code for an option that is not known, or an argument that is missing. */
const MAKES_NO_SENSE = 2

/**
 * @param {unknown} error
 * @param {NodeJS.WritableStream} stderr
 * @param {number} [otherwise] - the exit code where the error has none of its own; default 1
 * @returns {number} the exit code
 */
export function report(error, stderr, otherwise = 1) {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MAKES_NO_SENSE
  if (error instanceof CliError) {
    stderr.write(`letterlock: ${plainLines(error.message)}\n`)
    return error.exitCode
  }
  const refusal = explainRefusedFile(error)
  if (refusal !== null) {
    stderr.write(`letterlock: ${refusal}\n`)
    return otherwise
  }
  const known = asMailError(error)
  if (known !== null) {
    const { detail } = known
    stderr.write(`letterlock: ${known.message}\n`)
    if (detail !== undefined) stderr.write(`${plainLines(detail).replace(/^/gm, '  ')}\n`)
    return otherwise
  }
  stderr.write(
    `letterlock: unexpected error\n${plainLines(String(error instanceof Error ? error.stack : error))}\n`
  )
  return otherwise
}

/**
 * @param {unknown} error
 * @returns {MailError | null} also for the system's errors that have a code of ours, such as a full disk; null for a fault of
 *   the program
 */
function asMailError(error) {
  if (error instanceof MailError) return error
  if (!(error instanceof Error && 'syscall' in error)) return null
  const known = toMailError(error)
  if (!(known instanceof MailError)) return null
  return new MailError(known.code, { detail: error.message, cause: error })
}
