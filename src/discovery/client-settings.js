/**
 * What mail programs have to know to reach this host from outside. It is made of the configuration alone and the same for
 * every address, so that nobody learns from it which addresses there are.
 */
import { hostname } from 'node:os'
import { parseListenAddress } from '../support/listen-address.js'
import { isLoopback } from '../support/loopback.js'

/** The ports of RFC 3501 and RFC 8314 §3, told where a listener is on loopback: something in front of it has the usual port. */
const STANDARD = Object.freeze({ imap: 143, imaps: 993 })

/**
 * @typedef {object} Endpoint
 * @property {string} host
 * @property {number} port
 * @property {boolean} isImplicitTls - TLS from the first byte; otherwise STARTTLS
 *
 * @typedef {object} ClientSettings - each list by preference; empty where the service is not offered
 * @property {string} host - of this server, public
 * @property {Endpoint[]} imap
 * @property {Endpoint[]} submission
 *
 * @typedef {object} DiscoveryConfig
 * @property {{ listen: string }} imap
 * @property {{ listen: string }} imaps
 * @property {{ host: string, imapsPort: number, imapPort: number, submissionHost: string, submissionsPort: number,
 *   submissionPort: number }} discovery
 */

/**
 * @param {string} listen - HOST:PORT or `off`
 * @param {number} standard
 * @param {number} told - the setting; 0: taken from the listener
 * @returns {number} the port that clients use; 0 for none
 */
function publicPort(listen, standard, told) {
  const where = parseListenAddress(listen)
  if (where === null) return 0
  if (told !== 0) return told
  const isLocal = isLoopback(where.host) || where.host === 'localhost'
  return isLocal ? standard : where.port
}

/**
 * @param {DiscoveryConfig} config
 * @param {{ host?: string }} [options] - `host`: a public name that takes the place of the configured one
 * @returns {ClientSettings}
 */
export function clientSettings({ imap, imaps, discovery }, { host: told } = {}) {
  const host = told ?? (discovery.host || hostname())
  const outgoing = discovery.submissionHost || host
  const offered = (/** @type {Endpoint[]} */ endpoints) => endpoints.filter(({ port }) => port > 0)
  return {
    host,
    imap: offered([
      {
        host,
        port: publicPort(imaps.listen, STANDARD.imaps, discovery.imapsPort),
        isImplicitTls: true
      },
      {
        host,
        port: publicPort(imap.listen, STANDARD.imap, discovery.imapPort),
        isImplicitTls: false
      }
    ]),
    submission: offered([
      { host: outgoing, port: discovery.submissionsPort, isImplicitTls: true },
      { host: outgoing, port: discovery.submissionPort, isImplicitTls: false }
    ])
  }
}
