/**
 * `letterlock open FILE`: a portable mailbox for a mail program on this machine, to read.
 */
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { MailError } from '../../errors.js'
import { SecretBuffer } from '../../crypto/secret-buffer.js'
import { equalInConstantTime } from '../../crypto/constant-time.js'
import { normalizePassword } from '../../crypto/kdf.js'
import { openPortable } from '../../export/open-portable.js'
import { createImapServer } from '../../imap/session/listener.js'
import { steadyClock } from '../../support/clock.js'
import { createLogger } from '../../telemetry/logger.js'
import { CliError } from '../cli-error.js'
import { goneWhenInterrupted } from '../gone-when-interrupted.js'
import { NOTHING_DONE } from '../open-mailbox.js'
import { PasswordInput } from '../password-input.js'
import { wholeNumber } from '../whole-number.js'

/** @typedef {import('../index.js').CliContext} CliContext */
/** @typedef {{ port: number, scratch: string, passwordStdin?: boolean }} OpenOptions */

/** A wrong password is refused after so long, ms: other users of this machine reach the port as well. */
const REFUSAL_MS = 1000

const HELP = `
Asks for the password that the file was made with, and shows the mailbox by IMAP on this machine alone,
until Ctrl-C. Any user name and the same password log in, without TLS. Nothing can be changed: the file
is only read, and a copy of it, encrypted as it is, lies in the scratch folder meanwhile.

Example:
  letterlock open ann.letterlock --port 1143`

/**
 * @param {import('commander').Command} program
 * @param {CliContext} context
 */
export function register(program, context) {
  const port = (/** @type {string} */ text) => wholeNumber(text, 'port', { most: 65_535 })
  program
    .command('open')
    .description('read a portable mailbox with any mail program')
    .argument('<file>', 'made by letterlock export --file')
    .option('--port <number>', 'to listen on; 0: a free one', port, 0)
    .option('--scratch <folder>', 'where a copy may lie meanwhile', tmpdir())
    .option('--password-stdin', 'read the password from standard input')
    .addHelpText('after', HELP)
    .action(async (/** @type {string} */ file, /** @type {OpenOptions} */ options) => {
      process.exitCode = await run(context, options, file)
    })
}

/**
 * @param {CliContext} context
 * @param {OpenOptions} options
 * @param {string} file
 * @returns {Promise<number>}
 */
async function run(context, options, file) {
  const { stdin, stdout, stderr, clock } = context
  const input = new PasswordInput({ stdin, stderr, isStdin: options.passwordStdin === true })
  const typed = await input.read(`Password of ${file}`).finally(() => input.close())
  using password = SecretBuffer.moveFrom(typed)
  using expected = normalizePassword(password.bytes)
  const { portable, release } = await openNamed({
    context,
    options,
    file,
    password: password.bytes
  })
  const { store } = portable
  try {
    const config = context.loadConfig({}, { 'imap.allowPlaintextLoopback': true })
    const logger = createLogger({ level: config.log.level === 'silent' ? 'silent' : 'error' })
    const server = createImapServer({
      config,
      authenticate: async ({ password: given }) => {
        // A mail program may send the password composed (NFC), where it was typed decomposed.
        using normalized = normalizePassword(given)
        if (!equalInConstantTime(normalized.bytes, expected.bytes)) {
          await sleepFor(REFUSAL_MS)
          throw new MailError('AUTHENTICATION_FAILED')
        }
        const account = { id: 'portable', address: 'portable' }
        return { account, scope: 'read-only', store, release: async () => {} }
      },
      tls: null,
      clock,
      steadyClock,
      logger
    })
    const { port } = await listen(server, options.port)
    stdout.write(`imap 127.0.0.1:${port}, no TLS, any user name, the password just given\n`)
    stdout.write('read-only; Ctrl-C ends it\nready\n')
    const isOver = stopped()
    // From here on signals end the command in order, by `stopped`, and `portable.close` removes the copy.
    release()
    await isOver
    await server.close({ graceMs: 2000 })
    return 0
  } finally {
    await portable.close()
    release()
  }
}

/**
 * @param {{ context: CliContext, options: OpenOptions, file: string, password: Buffer }} request
 * @returns {Promise<{ portable: import('../../export/open-portable.js').OpenPortable, release: () => void }>} until `release`,
 *   a signal that ends the program removes the copy
 */
async function openNamed({ context, options, file, password }) {
  let release = () => {}
  try {
    const portable = await openPortable({
      path: file,
      password,
      scratchFolder: options.scratch,
      clock: context.clock,
      onScratch: (folder) => (release = goneWhenInterrupted(folder))
    })
    return { portable, release }
  } catch (cause) {
    release()
    const { code, path, syscall } = /** @type {NodeJS.ErrnoException} */ (cause)
    if (typeof code !== 'string') throw cause
    const isAboutFile = path === file || syscall === 'read'
    const reason =
      code === 'KEY_REJECTED'
        ? 'The password is not that of this file'
        : cause instanceof MailError
          ? cause.message
          : isAboutFile
            ? `it cannot be read (${code})`
            : `there can be no copy of it in ${options.scratch} (${code})`
    throw new CliError(`${file}: ${reason}`, { exitCode: NOTHING_DONE, cause })
  }
}

/**
 * @param {import('../../imap/session/listener.js').ImapServer} server
 * @param {number} port
 */
async function listen(server, port) {
  try {
    return await server.listen({ host: '127.0.0.1', port, isImplicitTls: false })
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
    throw new CliError(`Port ${port} cannot be used (${code})`, { exitCode: NOTHING_DONE, cause })
  }
}

/** @returns {Promise<unknown>} when somebody asks for the end */
function stopped() {
  const ended = new AbortController()
  const { signal } = ended
  // SIGHUP: the terminal was closed.
  const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) =>
    once(process, name, { signal }).catch(() => {})
  )
  return Promise.race(ends).finally(() => ended.abort())
}
