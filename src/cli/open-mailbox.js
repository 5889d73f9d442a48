/**
 * Opens one account's mailbox for a command, with its password, beside a server that may be running.
 */
import { join } from 'node:path'
import { openStore } from '../accounts/open-store.js'
import { openAccountServices } from '../accounts/services.js'
import { listenForBackups } from '../backup/owner-listener.js'
import { toMailError } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'
import { createLogger } from '../telemetry/logger.js'
import { CliError } from './cli-error.js'
import { explainRefusedFile } from './file-refused.js'
import { enterDataFolder } from './data-folder.js'
import { PasswordInput } from './password-input.js'
import { withSecret } from './with-accounts.js'

/** @typedef {import('./index.js').CliContext} CliContext */
/** @typedef {import('./index.js').CommonOptions} CommonOptions */
/** @typedef {import('../accounts/services.js').AccountServices} AccountServices */
/** @typedef {import('../accounts/unlock.js').Unlocked} Unlocked */
/** @typedef {import('../store/account-store.js').AccountStore} AccountStore */

/** The exit code of a command that could not even begin. */
export const NOTHING_DONE = 2

/**
 * @typedef {object} OpenMailbox
 * @property {AccountStore} store
 * @property {string} address - the account's own
 * @property {() => Promise<void>} close
 */

/**
 * Becomes the owner of the data folder, and says so where the command uses files that root alone may be able to reach.
 *
 * @param {object} request
 * @param {CliContext} request.context
 * @param {CommonOptions} request.options
 * @param {boolean} [request.usesFiles] - whether the command reads or writes other files than the mailbox; default true
 * @returns {import('../../config/load.js').Config}
 * @throws {CliError} with exit code 2
 */
export function enterWithFiles({ context, options, usesFiles = true }) {
  const config = context.loadConfig(options)
  const { hasBecomeOwner } = enterDataFolder(config.data, { exitCode: NOTHING_DONE })
  if (hasBecomeOwner && usesFiles)
    context.stderr.write(`running as the owner of ${config.data}, user ${process.getuid?.()}\n`)
  return config
}

/**
 * @param {object} request
 * @param {CliContext} request.context
 * @param {CommonOptions & { passwordStdin?: boolean }} request.options
 * @param {string | undefined} request.account - an address; may be left out where there is one account only
 * @param {boolean} request.isReadOnly - whether the command only reads
 * @param {boolean} [request.usesFiles] - whether the command reads or writes other files than the mailbox
 * @param {Buffer} [request.password] - where it was asked for already; the caller zeroes it
 * @returns {Promise<OpenMailbox>}
 * @throws {CliError} with exit code 2 when the mailbox does not open
 */
async function openMailbox({ context, options, account, isReadOnly, usesFiles = false, password }) {
  /** @type {(() => unknown)[]} */
  const closers = []
  const close = async () => {
    /** @type {{ error: unknown } | null} */
    let fault = null
    for (const closer of closers.splice(0).reverse()) {
      try {
        await closer()
      } catch (error) {
        // Kept until all is closed: a key is among the rest.
        fault ??= { error }
      }
    }
    if (fault) throw /** @type {{ error: unknown }} */ (fault).error
  }
  try {
    const config = enterWithFiles({ context, options, usesFiles })
    // A command says in plain words what goes wrong with its own work; the log has only what goes wrong besides.
    const logger = createLogger({ level: config.log.level === 'silent' ? 'silent' : 'warn' })
    const services = await openAccountServices({ config, clock: context.clock, logger })
    closers.push(() => services.close())
    const unlocked = await unlock({ context, services, options, account, password })
    closers.push(() => unlocked.masterKey.dispose())
    if (!isReadOnly && unlocked.scope === 'read-only') throw new MailError('NO_PERMISSION')
    const store = await openStore({
      services,
      account: unlocked.account,
      masterKey: unlocked.masterKey,
      isReadOnly,
      // Only logged: the command's own work fails with the same error.
      onAlert: (alert) => logger.error(alert, 'the mailbox needs an operator')
    })
    closers.push(() => store.close())
    const { id } = unlocked.account
    const owner = await listenForBackups({
      runFolder: join(config.data, 'run'),
      findStore: async (accountId) => (accountId === id ? store : null),
      // Closes nothing: a restore waits until the command has ended.
      closeMailbox: async () => {},
      // A command takes in no mail.
      ring: () => {},
      logger
    })
    closers.push(() => owner.close())
    return { store, address: unlocked.account.address, close }
  } catch (error) {
    await close().catch(() => {})
    throw asCliError(error)
  }
}

/**
 * Does some work with a mailbox that is open meanwhile.
 *
 * @template T
 * @param {Parameters<typeof openMailbox>[0]} request
 * @param {(mailbox: OpenMailbox) => Promise<T>} work
 * @returns {Promise<T>}
 * @throws {CliError} with exit code 2 when the mailbox does not open; what the work throws, also where the mailbox then
 *   does not close well
 */
export async function withMailbox(request, work) {
  const mailbox = await openMailbox(request)
  let result
  try {
    result = await work(mailbox)
  } catch (error) {
    await mailbox.close().catch(() => {})
    throw error
  }
  await mailbox.close()
  return result
}

/**
 * @param {object} parts
 * @param {CliContext} parts.context
 * @param {AccountServices} parts.services
 * @param {{ passwordStdin?: boolean }} parts.options
 * @param {string | undefined} parts.account
 * @param {Buffer | undefined} parts.password
 * @returns {Promise<Unlocked>}
 */
async function unlock({ context, services, options, account, password: given }) {
  const { stdin, stderr } = context
  const username = account ?? (await onlyAddress(services))
  if (given) return services.unlocker.unlock({ username, password: given, remoteAddress: null })
  const input = new PasswordInput({ stdin, stderr, isStdin: options.passwordStdin === true })
  try {
    return await withSecret(await input.read(`Password of ${username}`), (password) =>
      services.unlocker.unlock({ username, password, remoteAddress: null })
    )
  } finally {
    await input.close()
  }
}

/**
 * @param {AccountServices} services
 * @returns {Promise<string>}
 */
async function onlyAddress({ directory }) {
  const accounts = await directory.listAccounts()
  const [account] = accounts
  if (accounts.length === 1 && account) return account.address
  const why = accounts.length === 0 ? 'There is no account yet' : 'There are several accounts'
  throw new CliError(`${why}: name one with --account`, { exitCode: NOTHING_DONE })
}

/**
 * @param {unknown} error
 * @returns {unknown} errors of ours as one line for the terminal, others as they are
 */
function asCliError(error) {
  const known = toMailError(error)
  if (!(known instanceof MailError)) return error
  const detail = known.detail === undefined ? '' : ` (${known.detail})`
  const text = explainRefusedFile(known) ?? `${known.message}${detail}`
  return new CliError(text, { exitCode: NOTHING_DONE, cause: error })
}
