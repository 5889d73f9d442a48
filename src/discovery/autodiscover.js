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
 * @returns {string | null} the address that it asks for; null where it is no such request
 */
export function askedAddress(text) {
  // No request has one, and what it could define is trouble.
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
 * @param {ClientSettings} input.settings - of each service the first is told
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

/** @returns {string} XML: 600 is "invalid request" */
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
