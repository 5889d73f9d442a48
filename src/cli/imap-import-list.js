/**
 * `import imap --list FILE`: many accounts, some at once. Each is a process of its own, so that one that fails or is slow
 * stands in nobody's way, and several cores are used; passwords reach it through its standard input.
 */
import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import PQueue from 'p-queue'
import { byteLines } from './byte-lines.js'
import { CliError } from './cli-error.js'
import { REPORT_BEGINNING } from './imap-import-progress.js'

const TAB = 0x09
const LINE_FEED = Buffer.from('\n')
/** A line has at most so many bytes: more than the longest source, account and two passwords. */
const MAX_LINE_BYTES = 16_384

/**
 * @typedef {object} ListedAccount
 * @property {number} line - in the file, from 1
 * @property {string} from - `imaps://user@host`
 * @property {Buffer} sourcePassword - zeroed after use
 * @property {string} account
 * @property {Buffer} password - zeroed after use
 *
 * @typedef {object} ListOptions
 * @property {string} file
 * @property {number} parallel - accounts at once
 * @property {string[]} command - program and arguments up to those of one account
 * @property {AbortSignal} signal - no further account begins
 * @property {(result: { account: string } & AccountResult) => void} onAccount
 *
 * @typedef {object} AccountResult
 * @property {number} code - the exit code
 * @property {string | null} report - the line that sums up the copy; null where the process printed none
 * @property {string[]} said - all lines of its standard output, that of the report and those about the progress among them
 * @property {string[]} failures
 */

/**
 * @param {string} file
 * @throws {CliError} where others than its owner may read it, or it is a folder
 */
async function requirePrivate(file) {
  const stats = await stat(file).catch((/** @type {NodeJS.ErrnoException} */ cause) => {
    throw new CliError(`${file} cannot be read (${cause.code})`, { exitCode: 2, cause })
  })
  if (stats.isDirectory()) throw new CliError(`${file} is a folder`, { exitCode: 2 })
  if ((stats.mode & 0o077) !== 0) {
    throw new CliError(`${file} holds passwords: run chmod 600 on it first`, { exitCode: 2 })
  }
}

/**
 * @param {string} file - tab-separated: source, its password, account, its password; empty lines and `#` are left out
 * @returns {AsyncGenerator<ListedAccount>}
 * @throws {CliError} for a line that has not four fields, or a NUL
 */
async function* readList(file) {
  let number = 0
  for await (const line of byteLines(createReadStream(file), { maxBytes: MAX_LINE_BYTES })) {
    number++
    if (line.length === 0 || line[0] === 0x23) continue
    if (line.includes(0)) {
      line.fill(0)
      throw new CliError(`${file}: line ${number} has a NUL byte: the file must be UTF-8 text`, {
        exitCode: 2
      })
    }
    const [from, sourcePassword, account, password, ...rest] = splitTabs(line)
    if (!from || !sourcePassword || !account || !password || rest.length > 0) {
      line.fill(0)
      throw new CliError(`${file}: line ${number} has not four fields with tabs between them`, {
        exitCode: 2
      })
    }
    const listed = {
      line: number,
      from: from.toString('utf8').trim(),
      sourcePassword: Buffer.from(sourcePassword),
      account: account.toString('utf8').trim(),
      password: Buffer.from(password)
    }
    line.fill(0)
    yield listed
  }
}

/**
 * @param {Buffer} line
 * @returns {Buffer[]}
 */
function splitTabs(line) {
  const fields = []
  let start = 0
  for (let end; (end = line.indexOf(TAB, start)) !== -1; start = end + 1) {
    fields.push(line.subarray(start, end))
  }
  return [...fields, line.subarray(start)]
}

/**
 * @param {ListOptions} options
 * @returns {Promise<{ whole: number, partly: number, failed: number }>} how many accounts ended so
 * @throws {CliError} where the list cannot be read to its end; its exit code says whether anything was done before
 */
export async function importList({ file, parallel, command, signal, onAccount }) {
  await requirePrivate(file)
  const queue = new PQueue({ concurrency: parallel })
  const counts = { whole: 0, partly: 0, failed: 0 }
  try {
    for await (const listed of readList(file)) {
      if (signal.aborted) {
        forget(listed)
        break
      }
      queue.add(async () => {
        // Looked at again: the account may have waited for its turn when the signal came.
        if (signal.aborted) return forget(listed)
        const result = await importOne(command, listed)
        counts[result.code === 0 ? 'whole' : result.code === 2 ? 'failed' : 'partly']++
        onAccount({ account: listed.account, ...result })
      })
      await queue.onSizeLessThan(parallel)
    }
  } catch (cause) {
    // After a bad line, accounts that are under way still come to their end, and are told of.
    await queue.onIdle()
    if (!(cause instanceof CliError) || counts.whole + counts.partly === 0) throw cause
    throw new CliError(`${cause.message}; what stands after it was not begun`, {
      exitCode: 1,
      cause
    })
  }
  await queue.onIdle()
  return counts
}

/** @param {ListedAccount} listed */
function forget({ sourcePassword, password }) {
  sourcePassword.fill(0)
  password.fill(0)
}

/**
 * @param {string[]} command
 * @param {ListedAccount} listed
 * @returns {Promise<AccountResult>}
 */
async function importOne(command, listed) {
  const texts = { stdout: '', stderr: '' }
  let code
  try {
    code = await runOne(command, listed, texts)
  } catch (error) {
    // Counted as a failure of this account: the others are imported all the same.
    const { code: reason, message } = /** @type {NodeJS.ErrnoException} */ (error)
    return {
      code: 2,
      report: null,
      said: [],
      failures: [`It cannot be started (${reason ?? message})`]
    }
  } finally {
    forget(listed)
  }
  const said = linesOf(texts.stdout)
  // The report comes after lines about the progress.
  const report = said.find((line) => line.startsWith(REPORT_BEGINNING)) ?? null
  return { code, report, said, failures: linesOf(texts.stderr) }
}

/**
 * @param {string[]} command
 * @param {ListedAccount} listed
 * @param {{ stdout: string, stderr: string }} texts - the process's output is appended
 * @returns {Promise<number>} the exit code
 * @throws why the process cannot be started
 */
async function runOne([program = '', ...args], { from, account, sourcePassword, password }, texts) {
  const child = spawn(
    program,
    [...args, '--from', from, '--account', account, '--password-stdin'],
    { stdio: ['pipe', 'pipe', 'pipe'] }
  )
  /** @type {Promise<number | Error>} */
  const ended = new Promise((resolve) => {
    child.once('error', resolve)
    child.once('close', (status, endedBy) => {
      if (endedBy !== null) texts.stderr += `\nended by ${endedBy}\n`
      resolve(status ?? 1)
    })
  })
  // A process that was not started may lack its streams.
  if (child.pid !== undefined) {
    // Decoded as a stream: names of folders are in it, and a chunk may end within a letter.
    child.stdout.setEncoding('utf8').on('data', (chunk) => (texts.stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk) => (texts.stderr += chunk))
    // The process may end before it has read the passwords; its exit code says why.
    child.stdin.on('error', () => {})
    // Written as they are: nobody would zero a copy, and these are zeroed once the process has ended.
    for (const piece of [password, LINE_FEED, sourcePassword, LINE_FEED]) child.stdin.write(piece)
    child.stdin.end()
  }
  const outcome = await ended
  if (outcome instanceof Error) throw outcome
  return outcome
}

/**
 * @param {string} text
 * @returns {string[]}
 */
const linesOf = (text) => text.split('\n').filter((line) => line !== '')
