/**
 * Mail addresses as the directory keeps them: the local part in lower case (no two accounts differ in
 * case alone), the domain as ASCII (IDNA) in lower case.
 */
import { domainToASCII } from 'node:url'
import { MailError, isMailError } from '../errors.js'
import { composed } from '../support/composed.js'

/** RFC 5321 §4.5.3.1.1, in bytes. */
const MAX_LOCAL_BYTES = 64
/** RFC 1035 §2.3.4, in bytes. */
const MAX_DOMAIN_BYTES = 253

/** Between the user's name and the detail (RFC 5233 §1): user+lists@example.org is user@example.org's. */
const SUBADDRESS_SEPARATOR = '+'

/** An atom of RFC 5322 §3.2.3, with the UTF-8 of RFC 6531 §3.3. */
const LOCAL_PART =
  /^[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+(\.[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+)*$/u
const UNSEEN = /[\p{C}\p{Z}]/u
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/**
 * @typedef {object} ParsedAddress
 * @property {string} localPart - canonical
 * @property {string} domain - canonical
 * @property {string} address - both
 */

/**
 * @param {string} text
 * @returns {string} ASCII, lower case, no final dot
 * @throws {MailError} ADDRESS_INVALID
 */
export function normalizeDomain(text) {
  const refuse = () => new MailError('ADDRESS_INVALID', { detail: 'the domain is not one' })
  if (text.length > 4 * MAX_DOMAIN_BYTES || /[\s%/?#@:[\]\\]/.test(text)) throw refuse()
  const domain = domainToASCII(text).toLowerCase().replace(/\.$/, '')
  const isDomain =
    domain.length > 0 &&
    domain.length <= MAX_DOMAIN_BYTES &&
    domain.split('.').every((label) => LABEL.test(label))
  if (!isDomain) throw refuse()
  return domain
}

/**
 * @param {string} text
 * @returns {string} composed and in lower case
 * @throws {MailError} ADDRESS_INVALID
 */
function normalizeLocalPart(text) {
  // "name"@domain is name@domain where the name needs no quotes (RFC 5321 §4.1.2).
  const bare = /^"(.+)"$/s.exec(text)?.[1] ?? text
  const localPart = composed(composed(bare).toLowerCase())
  const isLocalPart =
    Buffer.byteLength(localPart) <= MAX_LOCAL_BYTES &&
    LOCAL_PART.test(localPart) &&
    !UNSEEN.test(localPart)
  if (!isLocalPart) {
    throw new MailError('ADDRESS_INVALID', { detail: 'the part before the @ is not one' })
  }
  return localPart
}

/**
 * @param {string} text
 * @param {{ defaultDomain?: string | undefined }} [options] - for a name without a domain
 * @returns {ParsedAddress}
 * @throws {MailError} ADDRESS_INVALID
 */
export function parseAddress(text, { defaultDomain } = {}) {
  const at = text.lastIndexOf('@')
  const domainText = at === -1 ? defaultDomain : text.slice(at + 1)
  if (domainText === undefined) {
    throw new MailError('ADDRESS_INVALID', { detail: 'the address has no domain' })
  }
  const localPart = normalizeLocalPart(at === -1 ? text : text.slice(0, at))
  const domain = normalizeDomain(domainText)
  return { localPart, domain, address: `${localPart}@${domain}` }
}

/**
 * @param {string} part - of an address, as a person writes it
 * @returns {string[]} what to look for in canonical addresses: the text, and where it has letters besides ASCII, also the
 *   text with its domain as ASCII, which finds whole labels only
 */
export function searchForms(part) {
  const text = composed(part.toLowerCase())
  const domainAt = text.lastIndexOf('@') + 1
  const domain = domainToASCII(text.slice(domainAt))
  return [...new Set([text, ...(domain === '' ? [] : [text.slice(0, domainAt) + domain])])]
}

/**
 * @param {ParsedAddress} parsed
 * @returns {string | null} the address without its +detail, or null where it has none
 */
export function withoutDetail({ localPart, domain }) {
  const at = localPart.indexOf(SUBADDRESS_SEPARATOR)
  return at > 0 ? `${localPart.slice(0, at)}@${domain}` : null
}

/**
 * One name for all ways to write an address, as far as they are known without looking an account up: case, quotes, the default
 * domain, +detail.
 *
 * @param {string} text - as typed at a login
 * @param {{ defaultDomain?: string | undefined }} [options]
 * @returns {string} canonical address without +detail; a text that is no address, in lower case
 */
export function nameOf(text, options) {
  try {
    const parsed = parseAddress(text, options)
    return withoutDetail(parsed) ?? parsed.address
  } catch (error) {
    if (isMailError(error, 'ADDRESS_INVALID')) return text.toLowerCase()
    throw error
  }
}

/**
 * A domain as one folder name: what is not a letter, a digit, an inner dot or a hyphen is written %XX, so
 * that no domain, however it came into the directory, names another folder.
 *
 * @param {string} domain
 * @returns {string}
 */
export function domainFolder(domain) {
  let name = ''
  for (const byte of Buffer.from(domain, 'utf8')) {
    const character = String.fromCharCode(byte)
    const isPlain = /[a-z0-9-]/.test(character) || (character === '.' && name !== '')
    name += isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return name === '' ? '%' : name
}
