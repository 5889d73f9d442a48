/**
 * Turns what was thrown into one clear line and an exit code. What another server said may be in it.
 */
import { CommanderError } from 'commander'
import { MailError } from '../errors.js'
import { CliError } from './cli-error.js'
import { explainRefusedFile } from './file-refused.js'
import { plainLines } from './plain-text.js'

/**
 * @param {unknown} error
 * @param {NodeJS.WritableStream} stderr
 * @param {number} [otherwise] - the exit code where the error has none of its own; default 1
 * @returns {number} the exit code
 */
export function report(error, stderr, otherwise = 1) {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : otherwise
  if (error instanceof CliError) {
    stderr.write(`letterlock: ${plainLines(error.message)}\n`)
    return error.exitCode
  }
  const refusal = explainRefusedFile(error)
  if (refusal !== null) {
    stderr.write(`letterlock: ${refusal}\n`)
    return otherwise
  }
  if (error instanceof MailError) {
    const { detail } = error
    stderr.write(`letterlock: ${error.message}\n`)
    if (detail !== undefined) stderr.write(`${plainLines(detail).replace(/^/gm, '  ')}\n`)
    return otherwise
  }
  stderr.write(
    `letterlock: unexpected error\n${plainLines(String(error instanceof Error ? error.stack : error))}\n`
  )
  return otherwise
}
