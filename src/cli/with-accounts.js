/**
 * What the commands about accounts share: the services opened and closed around the work, an account by
 * its address, times as words, and sizes and times from words.
 */
import { normalizeDomain, parseAddress } from '../accounts/address.js'
import { openAccountServices } from '../accounts/services.js'
import { isMailError, MailError } from '../errors.js'
import { dayBeginMs } from '../support/calendar-day.js'
import { createLogger } from '../telemetry/logger.js'
import { CliError } from './cli-error.js'
import { enterDataFolder } from './data-folder.js'
import { PasswordInput } from './password-input.js'

/**
 * @typedef {import('./index.js').CliContext} CliContext
 * @typedef {import('./index.js').CommonOptions} CommonOptions
 * @typedef {import('../accounts/services.js').AccountServices} AccountServices
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {Pick<CliContext, 'loadConfig' | 'clock' | 'stdin' | 'stdout' | 'stderr'>} CommandContext
 */

/** A day, or a time of day in it, with or without a zone. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/i

/**
 * @template T
 * @param {CommandContext} context
 * @param {CommonOptions & { passwordStdin?: boolean }} options
 * @param {(parts: { services: AccountServices, input: PasswordInput, print: (line: string) => void, tell: (line: string) => void }) => Promise<T>} work -
 *   `print` writes results to standard output, `tell` words for people to standard error
 * @param {{ mayBeNew?: boolean }} [how] - `mayBeNew`: makes a data folder where there is none, and says so
 * @returns {Promise<T>}
 */
export async function withAccounts(context, options, work, { mayBeNew = false } = {}) {
  const { stdin, stdout, stderr, clock } = context
  const config = context.loadConfig(options)
  if (enterDataFolder(config.data, { mayBeNew }).isNew && mayBeNew)
    stderr.write(`a new data folder: ${config.data}\n`)
  // A command says in plain words what goes wrong with its own work; the log has only what goes wrong besides.
  const logger = createLogger({ level: config.log.level === 'silent' ? 'silent' : 'warn' })
  const input = new PasswordInput({ stdin, stderr, isStdin: options.passwordStdin === true })
  const services = await openAccountServices({ config, clock, logger })
  try {
    return await work({
      services,
      input,
      print: (line) => stdout.write(`${line}\n`),
      tell: (line) => stderr.write(`${line}\n`)
    })
  } finally {
    await input.close()
    await services.close()
  }
}

/**
 * @param {AccountServices} services
 * @param {string} address
 * @returns {Promise<Account>}
 * @throws {CliError} exit code 1
 */
export async function requireAccount(services, address) {
  const account = await services.directory.findByAddress(address)
  if (!account) throw new CliError(`There is no account ${address}`)
  return account
}

/**
 * For commands that destroy without asking: what is an alias now, or `anna+2024@…`, may have been the address of an account
 * that is gone.
 *
 * @param {AccountServices} services
 * @param {Account} account - that was found by the address
 * @param {string} address - as it was given
 * @throws {CliError} where it is not the account's own
 */
export function requireOwnAddress({ config: { defaultDomain } }, account, address) {
  const { address: given } = parseAddress(address, { defaultDomain })
  if (given === account.address) return
  throw new CliError(`${given} is another name of ${account.address}: give that one`)
}

/**
 * Runs `work` with a secret that is zeroed afterwards, whatever happens.
 *
 * @template T
 * @param {Buffer} secret
 * @param {(secret: Buffer) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSecret(secret, work) {
  try {
    return await work(secret)
  } finally {
    secret.fill(0)
  }
}

/**
 * Asks for an account's password and opens its keys with it, for work on its file.
 *
 * @param {{ services: AccountServices, input: PasswordInput }} parts
 * @param {string} address
 * @returns {Promise<import('../accounts/unlock.js').Unlocked>} the caller disposes of the master key
 * @throws {CliError | MailError} where there is no such account; AUTHENTICATION_FAILED, NO_PERMISSION …
 */
export async function unlockForWork({ services, input }, address) {
  const account = await requireAccount(services, address).catch(async (error) => {
    await input.passOver()
    throw error
  })
  const secret = await input.read(`Password of ${account.address}`)
  const unlocked = await withSecret(secret, (password) =>
    services.unlocker.unlock({ username: account.address, password, remoteAddress: null })
  )
  if (unlocked.scope !== 'read-only') return unlocked
  unlocked.masterKey.dispose()
  throw new MailError('NO_PERMISSION')
}

/**
 * @param {string} text - for instance `500MB`, `2GB` or `0`; a fraction needs a unit
 * @returns {number} bytes
 * @throws {CliError} exit code 2; also for what is less than a byte, since 0 means no limit
 */
export function parseBytes(text) {
  const match = /^(?:(\d+)\s*|(\d+(?:\.\d+)?)\s*([kmgt]))b?$/i.exec(text)
  const exponent = ' kmgt'.indexOf(match?.[3]?.toLowerCase() ?? ' ')
  const amount = Number(match?.[1] ?? match?.[2])
  const bytes = Math.round(amount * 1000 ** exponent)
  if (Number.isSafeInteger(bytes) && (bytes > 0 || amount === 0)) return bytes
  throw new CliError(`${text} is no size: write for instance 500MB or 2GB`, { exitCode: 2 })
}

/**
 * @param {string} text
 * @returns {string} the domain as it is written down
 * @throws {CliError} exit code 2
 */
export function parseDomain(text) {
  try {
    return normalizeDomain(text)
  } catch (error) {
    if (!isMailError(error, 'ADDRESS_INVALID')) throw error
    throw new CliError(`“${text}” is no domain`, { exitCode: 2, cause: error })
  }
}

/**
 * @param {string} text - for instance 2026-11-20 or 2026-11-20T18:00+01:00; UTC where it names no zone, as every time that
 *   commands print and the names of backups
 * @param {{ isWholeDay?: boolean }} [how] - `isWholeDay`: a bare day is its last millisecond, not its first
 * @returns {number} ms
 * @throws {CliError} exit code 2
 */
export function parseTime(text, { isWholeDay = false } = {}) {
  const [, day, time = isWholeDay ? '23:59:59.999' : '00:00', zone = 'Z'] = TIME.exec(text) ?? []
  const timeMs = Date.parse(`${day}T${time}${zone}`)
  if (!Number.isNaN(timeMs) && !Number.isNaN(dayBeginMs(day ?? ''))) return timeMs
  throw new CliError(`${text} is no time: write for instance 2026-11-20 or 2026-11-20T18:00Z`, {
    exitCode: 2
  })
}

/**
 * @param {number | null} timeMs
 * @returns {string} ISO 8601 to the second, UTC
 */
export function formatTime(timeMs) {
  return timeMs === null ? 'never' : new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z')
}
