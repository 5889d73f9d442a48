/**
 * Apple's configuration profile with one mail account (Apple, Device Management: TopLevel, Mail). It has no password: the
 * device asks for it. The same address always has the same identifiers, so that a profile which is installed again takes
 * the place of the one before.
 */
import { createHash } from 'node:crypto'
import { XMLBuilder } from 'fast-xml-parser'

/** @import { ClientSettings, Endpoint } from './client-settings.js' */

/** The namespace of the UUIDs made here: any value will do, as long as it stays the same. */
const NAMESPACE = Buffer.from('6b8f1c5e2d3a4f60917e0c4b5a8d2e13', 'hex')
const DOCTYPE =
  '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'

// A property list's dictionary is keys and values in turn, so order matters.
const builder = new XMLBuilder({
  preserveOrder: true,
  ignoreAttributes: false,
  format: true,
  suppressEmptyNode: true
})

/**
 * @param {string} name
 * @returns {string} a UUID of version 5 (RFC 9562 §5.5)
 */
function uuidOf(name) {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex').toUpperCase()
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/**
 * @typedef {string | number | boolean | PlistValue[] | { [key: string]: PlistValue }} PlistValue
 */

/**
 * @param {PlistValue} value
 * @returns {object} the builder's node
 */
function node(value) {
  if (typeof value === 'boolean') return { [String(value)]: [] }
  if (typeof value === 'number') return { integer: [{ '#text': value }] }
  if (typeof value === 'string') return { string: [{ '#text': value }] }
  if (Array.isArray(value)) return { array: value.map(node) }
  return {
    dict: Object.entries(value).flatMap(([key, inner]) => [
      { key: [{ '#text': key }] },
      node(inner)
    ])
  }
}

/**
 * @param {'Incoming' | 'Outgoing'} direction
 * @param {string} address
 * @param {Endpoint | undefined} endpoint
 * @returns {Record<string, PlistValue>} nothing where the service is not offered
 */
function serverKeys(direction, address, endpoint) {
  if (endpoint === undefined) return {}
  return {
    [`${direction}MailServerHostName`]: endpoint.host,
    [`${direction}MailServerPortNumber`]: endpoint.port,
    // True for STARTTLS, too.
    [`${direction}MailServerUseSSL`]: true,
    [`${direction}MailServerUsername`]: address,
    [`${direction}MailServerAuthentication`]: 'EmailAuthPassword'
  }
}

/**
 * @param {object} input
 * @param {string} input.address - canonical
 * @param {string} input.domain - of it
 * @param {ClientSettings} input.settings
 * @returns {string} a property list as XML
 */
export function mobileconfigDocument({ address, domain, settings }) {
  const [imap] = settings.imap
  const [submission] = settings.submission
  const profile = uuidOf(`profile ${address}`)
  const account = uuidOf(`mail ${address}`)
  /** @type {PlistValue} */
  const document = {
    PayloadType: 'Configuration',
    PayloadVersion: 1,
    PayloadIdentifier: `${settings.host}.letterlock.${profile}`,
    PayloadUUID: profile,
    PayloadDisplayName: `Mail for ${address}`,
    PayloadDescription: `Sets up mail for ${address}. The password is asked for when it is installed.`,
    PayloadOrganization: domain,
    PayloadRemovalDisallowed: false,
    PayloadContent: [
      {
        PayloadType: 'com.apple.mail.managed',
        PayloadVersion: 1,
        PayloadIdentifier: `${settings.host}.letterlock.${account}`,
        PayloadUUID: account,
        PayloadDisplayName: address,
        EmailAccountType: 'EmailTypeIMAP',
        EmailAccountDescription: address,
        EmailAddress: address,
        ...serverKeys('Incoming', address, imap),
        ...serverKeys('Outgoing', address, submission),
        OutgoingPasswordSameAsIncomingPassword: true
      }
    ]
  }
  const body = builder.build([{ plist: [node(document)], ':@': { '@_version': '1.0' } }])
  return `<?xml version="1.0" encoding="UTF-8"?>\n${DOCTYPE}${String(body).trim()}\n`
}
