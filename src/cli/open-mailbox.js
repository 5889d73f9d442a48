/**
 * Opens one account's mailbox for a command, with its password, beside a server that may be running: from the
 * configuration to the directory, the pepper, the key and the store, and all of it closed again.
 */
import { join } from 'node:path'
import { Argon2Queue } from '../accounts/argon2-queue.js'
import { openDirectory } from '../accounts/directory.js'
import { loadPepper } from '../accounts/pepper.js'
import { Throttle } from '../accounts/throttle.js'
import { Unlocker } from '../accounts/unlock.js'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { MailError } from '../errors.js'
import { openAccountStore } from '../store/account-store.js'
import { createLogger } from '../telemetry/logger.js'
import { CliError } from './cli-error.js'
import { PasswordInput } from './password-input.js'

/** @typedef {import('./index.js').CliContext} CliContext */
/** @typedef {import('./index.js').CommonOptions} CommonOptions */
/** @typedef {import('../accounts/directory-port.js').DirectoryPort} DirectoryPort */
/** @typedef {import('../accounts/unlock.js').Unlocked} Unlocked */
/** @typedef {import('../store/account-store.js').AccountStore} AccountStore */

/** What a script reads when a command could not even begin. */
export const NOTHING_DONE = 2

/**
 * @typedef {object} OpenMailbox
 * @property {AccountStore} store
 * @property {string} address - the account's own
 * @property {() => Promise<void>} close
 */

/**
 * @param {object} request
 * @param {CliContext} request.context
 * @param {CommonOptions & { passwordStdin?: boolean }} request.options
 * @param {string | undefined} request.account - an address; may be left out where there is one account only
 * @param {boolean} request.isReadOnly - whether the command only reads
 * @returns {Promise<OpenMailbox>}
 * @throws {CliError} with exit code 2 when the mailbox does not open
 */
export async function openMailbox({ context, options, account, isReadOnly }) {
  const config = context.loadConfig(options)
  const logger = createLogger({ level: config.log.level })
  const { clock } = context
  /** @type {(() => unknown)[]} */
  const closers = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const directory = openDirectory({
      path: join(config.data, 'directory.db'),
      defaultDomain: config.defaultDomain,
      clock,
      logger
    })
    closers.push(() => directory.close())
    const address = account ?? (await onlyAddress(directory))
    const unlocked = await unlock({ context, config, directory, logger, closers, options, address })
    closers.push(() => unlocked.masterKey.dispose())
    if (!isReadOnly && unlocked.scope === 'read-only') throw new MailError('NO_PERMISSION')
    const store = await openStore({ config, context, logger, directory, unlocked, isReadOnly })
    closers.push(() => store.close())
    return { store, address: unlocked.account.address, close }
  } catch (error) {
    await close()
    throw asCliError(error)
  }
}

/**
 * @param {DirectoryPort} directory
 * @returns {Promise<string>}
 */
async function onlyAddress(directory) {
  const accounts = await directory.listAccounts()
  const [account] = accounts
  if (accounts.length === 1 && account) return account.address
  const why = accounts.length === 0 ? 'There is no account yet' : 'There are several accounts'
  throw new CliError(`${why}: name one with --account`, { exitCode: NOTHING_DONE })
}

/**
 * @param {object} parts
 * @param {CliContext} parts.context
 * @param {import('../../config/load.js').Config} parts.config
 * @param {DirectoryPort} parts.directory
 * @param {import('../telemetry/logger.js').Logger} parts.logger
 * @param {(() => unknown)[]} parts.closers
 * @param {{ passwordStdin?: boolean }} parts.options
 * @param {string} parts.address
 * @returns {Promise<Unlocked>}
 */
async function unlock({ context, config, directory, logger, closers, options, address }) {
  const { clock, stdin, stderr } = context
  const neededIds = await directory.listPepperIds()
  const pepper = await loadPepper({ path: config.auth.pepperFile, neededIds })
  closers.push(() => pepper.key.dispose())
  const unlocker = new Unlocker({
    directory,
    argon2: new Argon2Queue({ params: config.auth.argon2 }),
    pepper,
    throttle: new Throttle({ clock }),
    repeatLogins: null,
    clock,
    logger
  })
  closers.push(() => unlocker.close())
  const input = new PasswordInput({ stdin, stderr, isStdin: options.passwordStdin === true })
  const password = await input.read(`Password of ${address}`)
  try {
    return await unlocker.unlock({ username: address, password, remoteAddress: null })
  } finally {
    password.fill(0)
  }
}

/**
 * @param {object} parts
 * @param {import('../../config/load.js').Config} parts.config
 * @param {CliContext} parts.context
 * @param {import('../telemetry/logger.js').Logger} parts.logger
 * @param {DirectoryPort} parts.directory
 * @param {Unlocked} parts.unlocked
 * @param {boolean} parts.isReadOnly
 * @returns {Promise<AccountStore>}
 */
async function openStore({ config, context, logger, directory, unlocked, isReadOnly }) {
  const { account, masterKey } = unlocked
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    return await openAccountStore({
      folder: account.folder,
      key,
      isReadOnly,
      cipher: account.cipher,
      config: {
        ...config.storage,
        tempFolder: join(config.data, 'tmp'),
        maxMessageBytes: config.messages.maxBytes,
        quotaBytes: account.quotaBytes,
        quotaMessages: account.quotaMessages
      },
      clock: context.clock,
      logger,
      onUsage: (usage) => directory.recordUsage(account.id, usage),
      onAlert: (alert) => logger.error(alert, 'mailbox alert')
    })
  } finally {
    key.fill(0)
  }
}

/**
 * @param {unknown} error
 * @returns {unknown} errors of ours as one line for the terminal, others as they are
 */
function asCliError(error) {
  if (!(error instanceof MailError)) return error
  const detail = error.detail === undefined ? '' : ` (${error.detail})`
  return new CliError(`${error.message}${detail}`, { exitCode: NOTHING_DONE, cause: error })
}
