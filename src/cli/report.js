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
 * @returns {number} the exit code
 */
export function report(error, stderr) {
  if (error instanceof CommanderError) return error.exitCode
  if (error instanceof CliError) {
    stderr.write(`letterlock: ${plainLines(error.message)}\n`)
    return error.exitCode
  }
  const refusal = explainRefusedFile(error)
  if (refusal !== null) {
    stderr.write(`letterlock: ${refusal}\n`)
    return 1
  }
  if (error instanceof MailError) {
    const { detail } = error
    stderr.write(`letterlock: ${error.message}\n`)
    if (detail !== undefined) stderr.write(`${plainLines(detail).replace(/^/gm, '  ')}\n`)
    return 1
  }
  stderr.write(
    `letterlock: unexpected error\n${plainLines(String(error instanceof Error ? error.stack : error))}\n`
  )
  return 1
}
