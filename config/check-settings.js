/**
 * Holds a configuration of any origin against the settings table.
 *
 * By hand: a library of schemas is 60 modules, an eighth of what a command costs before it begins, for five rules.
 */
import { Cron } from 'croner'
import { closest, distance } from 'fastest-levenshtein'
import { normalizeDomain } from '../src/accounts/address.js'
import { MailError } from '../src/errors.js'
import { isAddressOrBlock } from '../src/support/address-list.js'
import { SETTINGS } from './default.js'

/** How the names of our environment variables begin. */
const VARIABLE_BEGINNING = /^LETTERLOCK_/

/** HOST:PORT or [IPV6]:PORT. */
const ADDRESS = /^(?:\[[0-9a-fA-F:.]+\]|[^:\s]+):(?<port>[0-9]{1,5})$/
const MAX_PORT = 65_535

/**
 * @param {string} text
 * @returns {boolean} whether it is `off`, or an address that can be listened on
 */
function isAddressOrOff(text) {
  if (text === 'off') return true
  const port = ADDRESS.exec(text)?.groups?.['port']
  return port !== undefined && Number(port) <= MAX_PORT
}

/**
 * @param {string} text
 * @returns {boolean} whether it is empty, or a cron expression of five fields whose time ever comes
 */
function isCronOrEmpty(text) {
  if (text === '') return true
  try {
    return new Cron(text, { mode: '5-part', timezone: 'UTC' }).nextRun() !== null
  } catch {
    // It does not parse: the complaint says what is expected, so croner's own words are not needed.
    return false
  }
}

/**
 * @param {string} text
 * @returns {boolean} whether it is a domain in which there can be addresses
 */
function isDomain(text) {
  try {
    normalizeDomain(text)
    return true
  } catch {
    // Here, too, the complaint says what is expected.
    return false
  }
}

/**
 * @param {string} text
 * @returns {boolean} whether it is empty, or a URL of HTTP
 */
const isUrlOrEmpty = (text) => text === '' || (/^https?:\/\//i.test(text) && URL.canParse(text))

/**
 * By format, what a text has to be, and whether it is. A path may be anything.
 *
 * @type {Record<string, { isValid: (text: string) => boolean, expected: string }>}
 */
const FORMATS = {
  address: {
    isValid: isAddressOrOff,
    expected: `must be HOST:PORT or off, with a PORT from 0 to ${MAX_PORT}`
  },
  block: {
    isValid: isAddressOrBlock,
    expected: 'must have addresses, or blocks such as 10.0.0.0/8'
  },
  cron: { isValid: isCronOrEmpty, expected: 'must be a cron expression of five fields' },
  domain: { isValid: isDomain, expected: 'must be a domain' },
  url: { isValid: isUrlOrEmpty, expected: 'must be a URL such as https://s3.example.org' }
}

/**
 * @param {unknown} value
 * @param {import('./default.js').Setting} setting
 * @returns {string | null} what the value would have to be; null where it is right
 */
function expectedOf(value, setting) {
  const { value: usual, minimum = 0, maximum } = setting
  if (typeof usual === 'boolean') return typeof value === 'boolean' ? null : 'must be boolean'
  if (typeof usual === 'number') {
    if (typeof value !== 'number' || !Number.isInteger(value)) return 'must be integer'
    if (value < minimum) return `must be >= ${minimum}`
    return maximum !== undefined && value > maximum ? `must be <= ${maximum}` : null
  }
  return expectedOfText(value, setting)
}

/**
 * @param {unknown} value - of a setting, or an item of a list
 * @param {import('./default.js').Setting} setting
 * @returns {string | null} as `expectedOf`
 */
function expectedOfText(value, { choices, isNeeded, format }) {
  if (typeof value !== 'string') return 'must be string'
  if (choices && !choices.includes(value)) return `must be one of ${choices.join(', ')}`
  if (isNeeded && value === '') return 'must not be empty'
  const rule = format && FORMATS[format]
  return !rule || rule.isValid(value) ? null : rule.expected
}

/**
 * @param {unknown} value
 * @param {import('./default.js').Setting} setting
 * @returns {string[]} what is wrong with it
 */
function complaintsAbout(value, setting) {
  const isList = Array.isArray(setting.value)
  const isGivenAsList = Array.isArray(value)
  const complaint = (/** @type {string | null} */ expected, /** @type {unknown} */ wrong) =>
    expected === null ? [] : [`${expected}, not ${JSON.stringify(wrong)}`]
  if (!isList) return complaint(expectedOf(value, setting), value)
  if (!isGivenAsList) return complaint('must be array', value)
  return value.flatMap((item) => complaint(expectedOfText(item, setting), item))
}

/**
 * @param {string} unknown
 * @param {readonly string[]} names - that it may be meant for
 * @returns {string} the sentence that helps: with the nearest name where one is near
 */
function unknownKey(unknown, names) {
  const longer = names.find((name) => name.startsWith(unknown))
  const nearest = longer ?? closest(unknown, names)
  // The common beginning of all variables must not make any of them nearer.
  const { length } = unknown.replace(VARIABLE_BEGINNING, '')
  return longer !== undefined || distance(unknown, nearest) <= Math.max(3, length / 3)
    ? `unknown key "${unknown}", did you mean "${nearest}"?`
    : `unknown key "${unknown}"`
}

/**
 * @param {unknown} value
 * @param {string} [prefix]
 * @returns {[string, unknown][]} dotted names and values; a group may be nested or already dotted
 */
export function flatten(value, prefix = '') {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[prefix, value]]
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(inner, prefix === '' ? key : `${prefix}.${key}`)
  )
}

/**
 * @param {Record<string, unknown>} settings - by dotted name
 * @param {string} origin - named in the complaint: the file, the environment or the command line
 * @param {readonly string[]} [names] - as they are written there
 * @throws {MailError} CONFIG_INVALID with every complaint in `detail`, one a line
 */
export function checkSettings(settings, origin, names = Object.keys(SETTINGS)) {
  const complaints = Object.keys(settings)
    .filter((name) => !Object.hasOwn(SETTINGS, name))
    .map((name) => unknownKey(name, names))
  for (const [name, setting] of Object.entries(SETTINGS)) {
    if (!Object.hasOwn(settings, name)) continue
    const wrong = complaintsAbout(settings[name], setting)
    complaints.push(...wrong.map((complaint) => `${name} ${complaint}`))
  }
  if (complaints.length > 0) {
    throw new MailError('CONFIG_INVALID', {
      detail: complaints.map((complaint) => `${origin}: ${complaint}`).join('\n')
    })
  }
}
