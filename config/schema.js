/**
 * Turns the settings table into a JSON schema, and a configuration of any origin into a checked one.
 */
import { Ajv } from 'ajv'
import { Cron } from 'croner'
import { closest, distance } from 'fastest-levenshtein'
import { normalizeDomain } from '../src/accounts/address.js'
import { MailError } from '../src/errors.js'
import { SETTINGS } from './default.js'

/** Of the environment's names. */
const VARIABLE_BEGINNING = /^LETTERLOCK_/

/** HOST:PORT or [IPV6]:PORT. */
const ADDRESS = /^(?:\[[0-9a-fA-F:.]+\]|[^:\s]+):(?<port>[0-9]{1,5})$/
const MAX_PORT = 65_535

/** What is expected of each format, for the complaint. */
const EXPECTED = Object.freeze({
  address: `must be HOST:PORT or off, with a PORT from 0 to ${MAX_PORT}`,
  cron: 'must be a cron expression of five fields',
  domain: 'must be a domain'
})

/**
 * @param {import('./default.js').Setting} setting
 * @returns {Record<string, unknown>} the JSON schema of one value
 */
function schemaOf(setting) {
  if (Array.isArray(setting.value)) return { type: 'array', items: { type: 'string' } }
  if (typeof setting.value === 'boolean') return { type: 'boolean' }
  if (typeof setting.value === 'number') {
    return { type: 'integer', minimum: setting.minimum ?? 0, maximum: setting.maximum }
  }
  return {
    type: 'string',
    ...(setting.choices && { enum: setting.choices }),
    ...(setting.isNeeded && { minLength: 1 }),
    ...(setting.format && setting.format !== 'path' && { format: setting.format })
  }
}

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
 * @returns {boolean} whether it is empty, or a cron expression of five fields whose time comes
 */
function isCronOrEmpty(text) {
  if (text === '') return true
  try {
    return new Cron(text, { mode: '5-part', timezone: 'UTC' }).nextRun() !== null
  } catch {
    // That it does not parse is the answer; the complaint says what is expected.
    return false
  }
}

/**
 * @param {string} text
 * @returns {boolean} whether addresses can be in it
 */
function isDomain(text) {
  try {
    normalizeDomain(text)
    return true
  } catch {
    // As above.
    return false
  }
}

// The schemas are made above: to check them against the schema of schemas would take 80 ms.
const ajv = new Ajv({ allErrors: true, verbose: true, meta: false, validateSchema: false })
ajv.addFormat('address', isAddressOrOff)
ajv.addFormat('cron', isCronOrEmpty)
ajv.addFormat('domain', isDomain)

/**
 * Compiled when a setting is given: most never are, and all of them would take a tenth of the start of a process.
 *
 * @type {Map<string, import('ajv').ValidateFunction>}
 */
const validators = new Map()

/**
 * @param {string} name
 * @param {import('./default.js').Setting} setting
 * @returns {import('ajv').ValidateFunction}
 */
function validatorOf(name, setting) {
  const validate = validators.get(name) ?? ajv.compile(schemaOf(setting))
  validators.set(name, validate)
  return validate
}

/**
 * @param {string} unknown
 * @param {readonly string[]} names - that it may be meant for
 * @returns {string} the sentence that helps: with the nearest name where one is near
 */
function unknownKey(unknown, names) {
  const longer = names.find((name) => name.startsWith(unknown))
  const nearest = longer ?? closest(unknown, names)
  // What all variables begin with makes none of them nearer.
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
    const validate = validatorOf(name, setting)
    if (validate(settings[name])) continue
    for (const error of validate.errors ?? []) {
      const expected =
        error.keyword === 'enum'
          ? `must be one of ${error.params.allowedValues.join(', ')}`
          : error.keyword === 'format'
            ? EXPECTED[/** @type {keyof typeof EXPECTED} */ (error.params.format)]
            : error.keyword === 'minLength'
              ? 'must not be empty'
              : error.message
      complaints.push(`${name} ${expected}, not ${JSON.stringify(error.data)}`)
    }
  }
  if (complaints.length > 0) {
    throw new MailError('CONFIG_INVALID', {
      detail: complaints.map((complaint) => `${origin}: ${complaint}`).join('\n')
    })
  }
}
