/**
 * Reads the configuration: defaults, then a JSON file, then the environment, then the command line.
 * The only file of the program that reads the environment.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { MailError } from '../src/errors.js'
import { collisionsIn } from './collisions.js'
import { SETTINGS } from './default.js'
import { checkSettings, flatten } from './check-settings.js'

/**
 * @typedef {object} Config
 * @property {string} data - absolute path
 * @property {string} defaultDomain
 * @property {{ listen: string, isProxied: boolean, allowPlaintextLoopback: boolean, loginTimeoutMs: number, inactivityTimeoutMs: number,
 *   idleReminderMs: number, maxConnections: number, maxConnectionsPerAccount: number, maxConnectionsPerAddress: number,
 *   maxBackgroundDownloads: number }} imap
 * @property {{ listen: string, isProxied: boolean }} imaps
 * @property {{ certificate: string, key: string, otherFolders: string[] }} tls - absolute paths, or empty
 * @property {{ trustedAddresses: string[] }} proxy
 * @property {{ listen: string, isProxied: boolean, maxRecipients: number, maxConnections: number, timeoutMs: number,
 *   overQuota: 'temporary' | 'permanent' }} lmtp
 * @property {{ socket: string, mode: '0600' | '0660' | '0666', group: string, maxConnections: number }} sasl
 * @property {{ listen: string, isTls: boolean, socket: string }} admin
 * @property {{ listen: string, isProxied: boolean, idleTimeoutMs: number, maxSessionMs: number }} userPage
 * @property {{ listen: string, isTls: boolean, host: string, imapsPort: number, imapPort: number, submissionHost: string,
 *   submissionsPort: number, submissionPort: number }} discovery
 * @property {{ workers: number }} cluster
 * @property {{ maxBytes: number }} messages
 * @property {{ quotaBytes: number, quotaMessages: number, lingerMs: number }} accounts
 * @property {{ enabled: boolean, concurrency: number, fromHour: number, toHour: number, quietMs: number,
 *   closeBudgetMs: number, vacuumMaxBytes: number, trashDays: number, junkDays: number, expungedLogDays: number,
 *   quickCheckDays: number }} maintenance
 * @property {{ pepperFile: string, isPepperLost: boolean, argon2: { memoryKiB: number, passes: number, parallelism: number },
 *   concurrency: number, queueLength: number, repeatLoginCache: boolean }} auth
 * @property {{ days: number, maxEvents: number }} audit
 * @property {{ exemptAddresses: string[], commandsPerMinutePerAccount: number, commandsPerMinutePerAddress: number,
 *   bytesPerMinutePerAccount: number, bytesPerMinutePerAddress: number, memoryBytes: number, memoryReserveBytes: number,
 *   eventLoopDelayMs: number }} limits
 * @property {{ cipher: 'chacha20' | 'aegis-256', tempStore: 'auto' | 'disk' | 'memory', secureDelete: 'on' | 'fast',
 *   cacheBytes: number, readerCacheBytes: number, totalCacheBytes: number, chunkCacheBytes: number, idleViewBytes: number,
 *   searchThreads: number, sleepAfterMs: number, maxOpenFiles: number, busyTimeoutMs: number, checkpointBytes: number }} storage
 * @property {{ isNightly: boolean, hour: number, cron: string, jitterMinutes: number, folder: string, keepDaily: number,
 *   keepWeekly: number, keepMonthly: number, eraseDeletedAfterDays: number, diskBytesPerSecond: number,
 *   networkBytesPerSecond: number, rehearsalAccounts: number,
 *   s3: { bucket: string, prefix: string, endpoint: string, region: string, isPathStyle: boolean } }} backup
 * @property {{ level: string }} log
 * @property {{ graceMs: number }} shutdown
 */

/**
 * @param {string} name - a dotted setting name
 * @returns {string} its environment variable, for instance LETTERLOCK_IMAP_LOGIN_TIMEOUT_MS
 */
export function environmentName(name) {
  const words = name
    .replaceAll('.', '_')
    .replace(/([a-z0-9])([A-Z][a-z])/g, '$1_$2')
    .toUpperCase()
  return `LETTERLOCK_${words}`
}

/**
 * @param {string} text
 * @param {import('./default.js').Setting} setting
 * @returns {unknown} the text as a value of the setting's type; what is no such value stays a text, which the check refuses
 */
function fromText(text, { value }) {
  if (Array.isArray(value)) return text === '' ? [] : text.split(',').map((item) => item.trim())
  if (typeof value === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (typeof value === 'number') return /^\d+$/.test(text) ? Number(text) : text
  return text
}

/**
 * Finds the line of a fault, since not every message of V8 has the place: the first line with which the text can no longer be
 * continued to JSON.
 *
 * @param {string} text - which is no JSON
 * @returns {number} the number of that line, or of the last one where something is missing at the end
 */
function faultyLine(text) {
  const lines = text.trimEnd().split('\n')
  const goesOn = (/** @type {string} */ part) => {
    try {
      JSON.parse(part)
      return true
    } catch (error) {
      const { message } = /** @type {SyntaxError} */ (error)
      const place = /at position (\d+)/.exec(message)?.[1]
      if (place === undefined) return /end of JSON input/.test(message)
      // A string of JSON cannot go on in the next line.
      return Number(place) >= part.trimEnd().length && !/Unterminated string/.test(message)
    }
  }
  const wrong = lines.findIndex((_, at) => !goesOn(lines.slice(0, at + 1).join('\n')))
  return wrong === -1 ? lines.length : wrong + 1
}

/**
 * @param {string} file
 * @returns {Record<string, unknown>}
 */
function readFile(file) {
  let text = ''
  try {
    // Some editors write a byte order mark and do not show it.
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return Object.fromEntries(flatten(value))
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
    const why =
      cause instanceof SyntaxError
        ? `is not JSON: see line ${faultyLine(text)}`
        : `cannot be read (${code})`
    throw new MailError('CONFIG_INVALID', { detail: `${file} ${why}`, cause })
  }
  const detail = `${file} must hold an object: { "defaultDomain": "example.org" }, for instance`
  throw new MailError('CONFIG_INVALID', { detail })
}

/** Variables of ours that are no settings: the configuration file, a worker's slot, and what tests are told. */
const NO_SETTING = /^LETTERLOCK_(CONFIG|WORKER|TEST_\w+)$/

const VARIABLES = new Set(Object.keys(SETTINGS).map(environmentName))

/**
 * @param {NodeJS.ProcessEnv} environment
 * @returns {NodeJS.ProcessEnv} variables that begin as ours do and are none of ours
 */
const unknownVariables = (environment) =>
  Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => name.startsWith('LETTERLOCK_') && !VARIABLES.has(name) && !NO_SETTING.test(name)
    )
  )

/**
 * @param {object} options
 * @param {Record<string, unknown>} [options.settings] - from the command line, by dotted name; wins over all
 * @param {string | undefined} [options.file] - JSON; otherwise LETTERLOCK_CONFIG names it
 * @param {NodeJS.ProcessEnv} [options.environment]
 * @returns {Config}
 * @throws {MailError} CONFIG_INVALID; `detail` has a line for each complaint
 */
export function loadConfig({ settings = {}, file, environment = process.env } = {}) {
  const path = file ?? environment['LETTERLOCK_CONFIG']
  const fromFile = path ? readFile(path) : {}
  if (path) checkSettings(fromFile, path)

  /** @type {Record<string, unknown>} */
  const fromEnvironment = {}
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const text = environment[environmentName(name)]
    if (text !== undefined) fromEnvironment[name] = fromText(text, setting)
  }
  const given = { ...fromEnvironment, ...unknownVariables(environment) }
  checkSettings(given, 'environment', [...VARIABLES])
  checkSettings(settings, 'command line')

  const defaults = Object.fromEntries(
    Object.entries(SETTINGS).map(([name, { value }]) => [name, value])
  )
  const merged = { ...defaults, ...fromFile, ...fromEnvironment, ...settings }

  /** @type {Record<string, any>} */
  const config = {}
  for (const [name, value] of Object.entries(merged)) {
    const keys = name.split('.')
    const last = /** @type {string} */ (keys.pop())
    let group = config
    for (const key of keys) group = group[key] ??= {}
    const format = SETTINGS[/** @type {import('./default.js').SettingName} */ (name)]
    const isPath = 'format' in format && format.format === 'path'
    group[last] = isPath && value !== '' ? absolutePath(String(value)) : value
    merged[name] = group[last]
  }
  const collisions = collisionsIn(merged)
  if (collisions.length > 0)
    throw new MailError('CONFIG_INVALID', { detail: collisions.join('\n') })
  config['auth'].pepperFile ||= resolve(config['data'], 'pepper')
  config['backup'].folder ||= resolve(config['data'], 'backup')
  return /** @type {Config} */ (config)
}

/**
 * For work that must be possible also with wrong settings, such as stopping what was started with right ones.
 *
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {{ data: string, isValid: boolean }} the data folder, absolute, and whether all settings are right
 * @throws {MailError} CONFIG_INVALID where the folder cannot be found out
 */
export function findDataFolder(environment = process.env) {
  try {
    return { data: loadConfig({ environment }).data, isValid: true }
  } catch (error) {
    const path = environment['LETTERLOCK_CONFIG']
    const data =
      environment[environmentName('data')] ??
      (path ? readFile(path)['data'] : undefined) ??
      SETTINGS.data.value
    if (typeof data !== 'string' || data === '') throw error
    return { data: absolutePath(data), isValid: false }
  }
}

/**
 * @param {string} path
 * @returns {string}
 * @throws {MailError} CONFIG_INVALID where it is relative to a working folder that has been removed, as that of an old release
 */
function absolutePath(path) {
  try {
    return resolve(path)
  } catch (cause) {
    const detail = `${path} is relative to the current folder, which is gone: change to another, or name it in full`
    throw new MailError('CONFIG_INVALID', { detail, cause })
  }
}

/**
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {boolean} true in a process that PM2 has started
 */
export const isUnderPm2 = (environment = process.env) => environment['pm_id'] !== undefined

/**
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {boolean} true in a process that PM2 has started for the first time
 */
export const isFirstUnderPm2 = (environment = process.env) =>
  isUnderPm2(environment) && environment['restart_time'] === '0'

/**
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {number | null} this process's place among several workers; null where it serves alone
 */
export function workerSlot(environment = process.env) {
  const text = environment['LETTERLOCK_WORKER'] ?? ''
  return /^\d{1,6}$/.test(text) ? Number(text) : null
}

/**
 * @param {string} folder - of the user whom the process has become: what `~` is for the libraries
 * @param {NodeJS.ProcessEnv} [environment]
 */
export function setHome(folder, environment = process.env) {
  environment['HOME'] = folder
}

/** Environment variables by which programs learn of proxies. */
const PROXY = /^(https?|no)_proxy$/i

/**
 * Reads the proxies as other programs do: names in capitals or not, and a proxy without a scheme as one of HTTP, which Node
 * would ignore.
 *
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {NodeJS.ProcessEnv} the variables that say which requests go through which proxy
 */
export const proxyEnvironment = (environment = process.env) =>
  Object.fromEntries(
    Object.entries(environment)
      .filter(([name]) => PROXY.test(name))
      .map(([name, value = '']) => {
        const isBare = value !== '' && !/^no/i.test(name) && !value.includes('://')
        return [name, isBare ? `http://${value}` : value]
      })
  )

/**
 * Tells by the way the process was started whether a supervisor runs it; otherwise a person watches it.
 *
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {boolean} true under PM2, systemd or NODE_ENV=production
 */
export function isSupervised(environment = process.env) {
  return (
    environment['NODE_ENV'] === 'production' ||
    environment['pm_id'] !== undefined ||
    environment['INVOCATION_ID'] !== undefined
  )
}
