/**
 * Response codes, RFC 9051 §7.1, RFC 5530 §3 and the extensions' own. Each is made by name, and those that carry values
 * cannot be made without them. The result goes to `tagged` and `untagged`.
 */
import { compileFlagList } from './flags.js'
import { compileString } from './quoted.js'
import { compileNumberSet } from '../values/sequence-set.js'

/**
 * @typedef {string & { readonly __brand: 'ResponseCode' }} ResponseCode - what stands between the brackets
 */

/**
 * @param {string} text
 * @returns {ResponseCode}
 */
const code = (text) => /** @type {ResponseCode} */ (text)

/** Codes without values. */
export const CODE = Object.freeze({
  alreadyExists: code('ALREADYEXISTS'),
  authenticationFailed: code('AUTHENTICATIONFAILED'),
  cannot: code('CANNOT'),
  clientBug: code('CLIENTBUG'),
  closed: code('CLOSED'),
  compressionActive: code('COMPRESSIONACTIVE'),
  corruption: code('CORRUPTION'),
  expungeIssued: code('EXPUNGEISSUED'),
  hasChildren: code('HASCHILDREN'),
  inUse: code('INUSE'),
  limit: code('LIMIT'),
  nonExistent: code('NONEXISTENT'),
  noPerm: code('NOPERM'),
  overQuota: code('OVERQUOTA'),
  privacyRequired: code('PRIVACYREQUIRED'),
  readOnly: code('READ-ONLY'),
  readWrite: code('READ-WRITE'),
  serverBug: code('SERVERBUG'),
  tooBig: code('TOOBIG'),
  tryCreate: code('TRYCREATE'),
  unavailable: code('UNAVAILABLE'),
  unknownCte: code('UNKNOWN-CTE'),
  useAttr: code('USEATTR')
})

/**
 * @param {{ uidValidity: number, uids: number[] }} appended - UIDs ascending, at least one
 * @returns {ResponseCode} RFC 9051 §7.1
 */
export function appendUid({ uidValidity, uids }) {
  return code(`APPENDUID ${uidValidity} ${compileNumberSet(uids)}`)
}

/**
 * @param {{ uidValidity: number, sourceSet: string, set: string }} copied - sets of UIDs, as on the wire; pairs in the order
 *   of the source UIDs, which ascend; at least one
 * @returns {ResponseCode} RFC 9051 §7.1
 */
export function copyUid({ uidValidity, sourceSet, set }) {
  return code(`COPYUID ${uidValidity} ${sourceSet} ${set}`)
}

/**
 * @param {readonly string[]} capabilities
 * @returns {ResponseCode} RFC 9051 §7.1
 */
export function capability(capabilities) {
  return code(`CAPABILITY ${capabilities.join(' ')}`)
}

/**
 * @param {readonly string[]} flags - `\*` among them when new keywords can be made
 * @returns {ResponseCode} RFC 9051 §7.1
 */
export function permanentFlags(flags) {
  return code(`PERMANENTFLAGS ${compileFlagList(flags)}`)
}

/**
 * @param {number} uid
 * @returns {ResponseCode} RFC 9051 §7.1
 */
export function uidNext(uid) {
  return code(`UIDNEXT ${uid}`)
}

/**
 * @param {string} tag - of a command that is still at work, nobody knows how far
 * @returns {ResponseCode} RFC 9585 §4: a tag with `]` would end the code, and is left out
 */
export function inProgress(tag) {
  const name = tag.includes(']') ? 'NIL' : compileString(tag).toString('latin1')
  return code(`INPROGRESS (${name} NIL NIL)`)
}

/**
 * @param {string} id
 * @returns {ResponseCode} RFC 8474 §4.1, §4.2
 */
export function mailboxId(id) {
  return code(`MAILBOXID (${id})`)
}

/**
 * @param {number} value
 * @returns {ResponseCode} RFC 9051 §7.1
 */
export function uidValidity(value) {
  return code(`UIDVALIDITY ${value}`)
}

/**
 * @param {number} sequenceNumber - of the first message without \Seen
 * @returns {ResponseCode} RFC 3501 §7.1
 */
export function unseen(sequenceNumber) {
  return code(`UNSEEN ${sequenceNumber}`)
}

/**
 * @param {number} modSeq
 * @returns {ResponseCode} RFC 7162 §3.1.2.1
 */
export function highestModSeq(modSeq) {
  return code(`HIGHESTMODSEQ ${modSeq}`)
}

/**
 * @param {string} set - of UIDs or sequence numbers, as the command had them, as on the wire; at least one
 * @returns {ResponseCode} RFC 7162 §3.1.3
 */
export function modified(set) {
  return code(`MODIFIED ${set}`)
}
