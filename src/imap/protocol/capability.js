/**
 * The capabilities, and when they are advertised: one row for each, RFC 9051 §6.1.1 and §7.2.2. A row belongs here once the
 * commands behind it work.
 */

/** @typedef {'not authenticated' | 'authenticated'} CapabilityState */

/**
 * @typedef {object} CapabilityFacts - about a connection
 * @property {boolean} isAuthenticated - authenticated or selected
 * @property {boolean} isTls - TLS is on
 * @property {boolean} isTlsAvailable - STARTTLS is accepted where TLS is off
 * @property {boolean} isLoginAllowed - a password may cross this connection as it is
 * @property {number} maxMessageBytes - APPEND takes no larger message
 */

/**
 * @typedef {object} CapabilityRow
 * @property {string} name
 * @property {readonly CapabilityState[]} states - in which it is advertised
 * @property {(facts: CapabilityFacts) => boolean} [condition] - what else must hold
 * @property {(facts: CapabilityFacts) => string | number} [value] - what follows the name and `=`
 * @property {string} reference - where it is defined
 */

const IN_EITHER_STATE = /** @type {const} */ (['not authenticated', 'authenticated'])
const BEFORE_LOGIN = /** @type {const} */ (['not authenticated'])
const AFTER_LOGIN = /** @type {const} */ (['authenticated'])

/** @param {CapabilityFacts} facts */
const allowsPassword = ({ isLoginAllowed }) => isLoginAllowed

/** @type {readonly CapabilityRow[]} */
export const CAPABILITIES = Object.freeze([
  { name: 'IMAP4rev1', states: IN_EITHER_STATE, reference: 'RFC 3501' },
  { name: 'IMAP4rev2', states: IN_EITHER_STATE, reference: 'RFC 9051' },
  {
    name: 'STARTTLS',
    states: BEFORE_LOGIN,
    condition: ({ isTls, isTlsAvailable }) => !isTls && isTlsAvailable,
    reference: 'RFC 9051 §6.2.1'
  },
  {
    name: 'LOGINDISABLED',
    states: BEFORE_LOGIN,
    condition: (facts) => !allowsPassword(facts),
    reference: 'RFC 9051 §6.2.3'
  },
  { name: 'AUTH=PLAIN', states: BEFORE_LOGIN, condition: allowsPassword, reference: 'RFC 4616' },
  {
    name: 'AUTH=LOGIN',
    states: BEFORE_LOGIN,
    condition: allowsPassword,
    reference: 'RFC 9051 §6.2.2'
  },
  { name: 'SASL-IR', states: BEFORE_LOGIN, reference: 'RFC 4959' },
  { name: 'LITERAL+', states: IN_EITHER_STATE, reference: 'RFC 7888' },
  { name: 'ENABLE', states: IN_EITHER_STATE, reference: 'RFC 5161' },
  { name: 'ID', states: IN_EITHER_STATE, reference: 'RFC 2971' },
  { name: 'IDLE', states: AFTER_LOGIN, reference: 'RFC 2177' },
  { name: 'NAMESPACE', states: AFTER_LOGIN, reference: 'RFC 2342' },
  { name: 'UNSELECT', states: AFTER_LOGIN, reference: 'RFC 3691' },
  { name: 'UIDPLUS', states: AFTER_LOGIN, reference: 'RFC 4315' },
  { name: 'MULTIAPPEND', states: AFTER_LOGIN, reference: 'RFC 3502' },
  { name: 'MOVE', states: AFTER_LOGIN, reference: 'RFC 6851' },
  { name: 'CONDSTORE', states: AFTER_LOGIN, reference: 'RFC 7162' },
  { name: 'QRESYNC', states: AFTER_LOGIN, reference: 'RFC 7162' },
  { name: 'ESEARCH', states: AFTER_LOGIN, reference: 'RFC 4731' },
  { name: 'SEARCHRES', states: AFTER_LOGIN, reference: 'RFC 5182' },
  { name: 'PARTIAL', states: AFTER_LOGIN, reference: 'RFC 9394' },
  { name: 'WITHIN', states: AFTER_LOGIN, reference: 'RFC 5032' },
  { name: 'LIST-EXTENDED', states: AFTER_LOGIN, reference: 'RFC 5258' },
  { name: 'LIST-STATUS', states: AFTER_LOGIN, reference: 'RFC 5819' },
  { name: 'STATUS=SIZE', states: AFTER_LOGIN, reference: 'RFC 8438' },
  { name: 'QUOTA', states: AFTER_LOGIN, reference: 'RFC 9208' },
  { name: 'QUOTA=RES-STORAGE', states: AFTER_LOGIN, reference: 'RFC 9208 §5.1' },
  { name: 'QUOTA=RES-MESSAGE', states: AFTER_LOGIN, reference: 'RFC 9208 §5.2' },
  { name: 'SAVEDATE', states: AFTER_LOGIN, reference: 'RFC 8514' },
  { name: 'OBJECTID', states: AFTER_LOGIN, reference: 'RFC 8474' },
  { name: 'INPROGRESS', states: AFTER_LOGIN, reference: 'RFC 9585' },
  { name: 'CHILDREN', states: AFTER_LOGIN, reference: 'RFC 3348' },
  { name: 'SPECIAL-USE', states: AFTER_LOGIN, reference: 'RFC 6154' },
  { name: 'CREATE-SPECIAL-USE', states: AFTER_LOGIN, reference: 'RFC 6154 §3' },
  {
    name: 'APPENDLIMIT',
    states: AFTER_LOGIN,
    value: ({ maxMessageBytes }) => maxMessageBytes,
    reference: 'RFC 7889'
  },
  { name: 'UTF8=ACCEPT', states: AFTER_LOGIN, reference: 'RFC 6855' },
  { name: 'COMPRESS=DEFLATE', states: AFTER_LOGIN, reference: 'RFC 4978' },
  { name: 'SORT', states: AFTER_LOGIN, reference: 'RFC 5256' },
  { name: 'SORT=DISPLAY', states: AFTER_LOGIN, reference: 'RFC 5957' },
  { name: 'PREVIEW', states: AFTER_LOGIN, reference: 'RFC 8970' },
  { name: 'BINARY', states: AFTER_LOGIN, reference: 'RFC 3516' },
  { name: 'ESORT', states: AFTER_LOGIN, reference: 'RFC 5267' },
  { name: 'THREAD=REFERENCES', states: AFTER_LOGIN, reference: 'RFC 5256' },
  { name: 'THREAD=ORDEREDSUBJECT', states: AFTER_LOGIN, reference: 'RFC 5256' }
])

/**
 * @param {CapabilityFacts} facts
 * @returns {string[]} what to advertise, in the table's order
 */
export function advertisedCapabilities(facts) {
  const state = facts.isAuthenticated ? 'authenticated' : 'not authenticated'
  return CAPABILITIES.filter(
    ({ states, condition }) => states.includes(state) && (condition?.(facts) ?? true)
  ).map(({ name, value }) => (value === undefined ? name : `${name}=${value(facts)}`))
}
