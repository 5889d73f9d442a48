/**
 * `account create --batch FILE`: an account for each line `address<TAB>password`.
 */
import { open } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import PQueue from 'p-queue'
import { MailError } from '../errors.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { provisionAccount } from '../accounts/provision.js'
import { byteLines } from './byte-lines.js'
import { CliError } from './cli-error.js'

const TAB = 0x09
/** A line has at most so many bytes: more than the longest address and password. */
const MAX_LINE_BYTES = 8192

/**
 * Accounts under way at once: while some derive keys on their cores, others write their files.
 */
const CONCURRENCY = 2 * availableParallelism()

/**
 * @typedef {object} BatchOptions
 * @property {import('../accounts/services.js').AccountServices} services
 * @property {string} file - `-` for standard input
 * @property {NodeJS.ReadableStream} stdin
 * @property {{ quotaBytes?: number }} quota
 * @property {(account: { address: string, recoveryCode: string }) => Promise<void>} onCreated - resolves when the code is out;
 *   where it cannot be, the batch ends
 * @property {(failure: { line: number, reason: string }) => void} onFailed - the batch goes on
 */

/**
 * @param {BatchOptions} options
 * @returns {Promise<{ created: number, failed: number }>}
 * @throws {CliError} naming the accounts whose recovery code is lost
 */
export async function createBatch({ services, file, stdin, quota, onCreated, onFailed }) {
  const queue = new PQueue({ concurrency: CONCURRENCY })
  const counts = { created: 0, failed: 0 }
  /** @type {unknown} */
  let fault = null
  /** @type {unknown} */
  let lost = null
  /** @type {string[]} addresses */
  const withoutCode = []
  const createLine = async (/** @type {Buffer} */ line, /** @type {number} */ number) => {
    try {
      if (fault) return
      const { address, recoveryCode } = await createOne({ services, line, quota })
      counts.created++
      await onCreated({ address, recoveryCode }).catch((error) => {
        withoutCode.push(address)
        lost ??= error
        fault ??= error
      })
    } catch (error) {
      if (!(error instanceof MailError)) {
        fault ??= error
        return
      }
      counts.failed++
      const detail = error.detail ? `: ${error.detail}` : ''
      onFailed({ line: number, reason: `${error.message}${detail}` })
    } finally {
      line.fill(0)
    }
  }

  const source = file === '-' ? stdin : await openFile(file)
  let number = 0
  try {
    for await (const line of byteLines(source, { maxBytes: MAX_LINE_BYTES })) {
      number++
      if (line.length === 0) continue
      const lineNumber = number
      queue.add(() => createLine(line, lineNumber))
      await queue.onSizeLessThan(CONCURRENCY)
      if (fault) break
    }
  } catch (error) {
    fault ??= error
  }
  // Also after a fault: the code of an account that is still being made must be told.
  await queue.onIdle()
  if (lost) throw codesLost(withoutCode, lost)
  if (fault) throw fault
  return counts
}

/**
 * @param {string[]} addresses
 * @param {unknown} cause
 * @returns {CliError}
 */
function codesLost(addresses, cause) {
  const why = `The recovery codes cannot be written (${errorCodeOf(cause)}), and no more accounts were made.`
  const advice =
    'account rekey gives each a new one, with its password; or account delete, and the batch once more'
  return new CliError(
    `${why} These have one that nobody knows (${advice}):\n${addresses.sort().join('\n')}`,
    { cause }
  )
}

/**
 * @param {string} path
 * @returns {Promise<NodeJS.ReadableStream>}
 * @throws {CliError} exit code 2
 */
async function openFile(path) {
  try {
    const file = await open(path)
    if (!(await file.stat()).isDirectory()) return file.createReadStream()
    await file.close()
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
    throw new CliError(`${path} cannot be read (${code})`, { exitCode: 2, cause })
  }
  throw new CliError(`${path} is a folder`, { exitCode: 2 })
}

/**
 * @param {{ services: BatchOptions['services'], line: Buffer, quota: BatchOptions['quota'] }} input
 * @returns {Promise<{ address: string, recoveryCode: string }>}
 */
async function createOne({ services, line, quota }) {
  const tab = line.indexOf(TAB)
  if (tab === -1) throw new MailError('ADDRESS_INVALID', { detail: 'the line has no tab' })
  const { account, recoveryCode, masterKey } = await provisionAccount({
    services,
    address: line.subarray(0, tab).toString('utf8').trim(),
    password: line.subarray(tab + 1),
    ...quota
  })
  masterKey.dispose()
  return { address: account.address, recoveryCode }
}
