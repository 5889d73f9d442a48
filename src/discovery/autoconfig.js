/**
 * Thunderbird's document, which other programs read as well (wiki.mozilla.org, Thunderbird:Autoconfiguration:ConfigFileFormat).
 */
import { XMLBuilder } from 'fast-xml-parser'

/** @import { ClientSettings, Endpoint } from './client-settings.js' */

const builder = new XMLBuilder({ ignoreAttributes: false, format: true })

/**
 * @param {string} type
 * @param {Endpoint} endpoint
 */
const server = (type, { host, port, isImplicitTls }) => ({
  '@_type': type,
  hostname: host,
  port,
  socketType: isImplicitTls ? 'SSL' : 'STARTTLS',
  // Inside of TLS.
  authentication: 'password-cleartext',
  // The program puts the address in.
  username: '%EMAILADDRESS%'
})

/**
 * @param {object} input
 * @param {string} input.domain - of the address
 * @param {ClientSettings} input.settings
 * @returns {string} XML
 */
export function autoconfigDocument({ domain, settings }) {
  return builder.build({
    '?xml': { '@_version': '1.0', '@_encoding': 'UTF-8' },
    clientConfig: {
      '@_version': '1.1',
      emailProvider: {
        '@_id': domain,
        domain,
        displayName: domain,
        displayShortName: domain,
        incomingServer: settings.imap.map((endpoint) => server('imap', endpoint)),
        outgoingServer: settings.submission.map((endpoint) => server('smtp', endpoint))
      }
    }
  })
}
