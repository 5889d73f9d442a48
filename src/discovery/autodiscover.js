/**
 * Outlook's "plain old XML" (MS-OXDSCLI §2.2.3, §2.2.4), as far as it is about IMAP and SMTP.
 */
import { XMLBuilder, XMLParser } from 'fast-xml-parser'

/** @import { ClientSettings, Endpoint } from './client-settings.js' */

const RESPONSE = 'http://schemas.microsoft.com/exchange/autodiscover/responseschema/2006'
const OUTLOOK = 'http://schemas.microsoft.com/exchange/autodiscover/outlook/responseschema/2006a'

const builder = new XMLBuilder({ ignoreAttributes: false, format: true })
const parser = new XMLParser({ ignoreAttributes: true, removeNSPrefix: true, parseTagValue: false })

/**
 * @param {string} text - of a request
 * @returns {string | null} the address whose settings are asked for; null where the text is no such request
 */
export function askedAddress(text) {
  // No real request has a DOCTYPE, and the entities that it may define are a way to attack the parser.
  if (/<!DOCTYPE/i.test(text)) return null
  try {
    const address = parser.parse(text)?.Autodiscover?.Request?.EMailAddress
    return typeof address === 'string' ? address : null
  } catch {
    return null
  }
}

/**
 * @param {'IMAP' | 'SMTP'} type
 * @param {string} address
 * @param {Endpoint} endpoint
 */
const protocol = (type, address, { host, port, isImplicitTls }) => ({
  Type: type,
  Server: host,
  Port: port,
  DomainRequired: 'off',
  LoginName: address,
  SPA: 'off',
  SSL: isImplicitTls ? 'on' : 'off',
  Encryption: isImplicitTls ? 'SSL' : 'TLS',
  AuthRequired: 'on',
  ...(type === 'SMTP' && { UsePOPAuth: 'on', SMTPLast: 'off' })
})

/**
 * @param {object} input
 * @param {string} input.address - canonical
 * @param {ClientSettings} input.settings - the first endpoint of each service is told
 * @returns {string} XML
 */
export function autodiscoverDocument({ address, settings }) {
  return document({
    '@_xmlns': OUTLOOK,
    Account: {
      AccountType: 'email',
      Action: 'settings',
      Protocol: [
        ...settings.imap.slice(0, 1).map((endpoint) => protocol('IMAP', address, endpoint)),
        ...settings.submission.slice(0, 1).map((endpoint) => protocol('SMTP', address, endpoint))
      ]
    }
  })
}

/** @returns {string} XML with error code 600, "invalid request" */
export const autodiscoverRefusal = () =>
  document({ Error: { ErrorCode: 600, Message: 'Invalid Request', DebugData: '' } })

/**
 * @param {object} response
 * @returns {string}
 */
function document(response) {
  return builder.build({
    '?xml': { '@_version': '1.0', '@_encoding': 'UTF-8' },
    Autodiscover: { '@_xmlns': RESPONSE, Response: response }
  })
}
