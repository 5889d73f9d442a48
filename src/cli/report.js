/**
 * Turns what was thrown into one clear line and an exit code.
 */
import { CommanderError } from 'commander'
import { MailError } from '../errors.js'
import { CliError } from './cli-error.js'
import { explainRefusedFile } from './file-refused.js'

/**
 * @param {unknown} error
 * @param {NodeJS.WritableStream} stderr
 * @returns {number} the exit code
 */
export function report(error, stderr) {
  if (error instanceof CommanderError) return error.exitCode
  if (error instanceof CliError) {
    stderr.write(`letterlock: ${error.message}\n`)
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
    if (detail !== undefined) stderr.write(`${detail.replace(/^/gm, '  ')}\n`)
    return 1
  }
  stderr.write(
    `letterlock: unexpected error\n${error instanceof Error ? error.stack : String(error)}\n`
  )
  return 1
}
