/**
 * The DNS lines by which mail and mail programs find this host, ready for a zone file.
 */
import { isIP } from 'node:net'

/** @import { ClientSettings, Endpoint } from '../../discovery/client-settings.js' */

/**
 * RFC 6186 §3.4, RFC 8314 §5.1. A target of "." says that there is no such service.
 *
 * @param {string} name
 * @param {Endpoint | undefined} endpoint
 * @returns {string}
 */
const service = (name, endpoint) =>
  endpoint === undefined
    ? `${name} IN SRV 0 0 0 .`
    : `${name} IN SRV 0 1 ${endpoint.port} ${endpoint.host}.`

/**
 * @param {object} input
 * @param {string[]} input.domains
 * @param {ClientSettings} input.settings - their host is the public name of this one
 * @param {boolean} input.hasDiscovery - whether this host answers the questions of mail programs
 * @param {string[]} [input.addresses] - of the host, as far as they are known
 * @returns {string[]} a zone file's lines
 */
export function dnsLines({ domains, settings, hasDiscovery, addresses = [] }) {
  const { host, imap, submission } = settings
  const find = (/** @type {Endpoint[]} */ endpoints, /** @type {boolean} */ isImplicitTls) =>
    endpoints.find((endpoint) => endpoint.isImplicitTls === isImplicitTls)
  const discovery = (/** @type {string} */ domain) =>
    hasDiscovery
      ? [
          '; where mail programs ask for their settings (docs/autoconfig.md); the certificate must have the name',
          `autoconfig.${domain}. IN CNAME ${host}.`,
          service(`_autodiscover._tcp.${domain}.`, { host, port: 443, isImplicitTls: true })
        ]
      : [
          '; autoconfig and autodiscover: set discovery.listen, and these lines appear (docs/autoconfig.md)'
        ]
  return [
    `; the host itself: its reverse DNS must say ${host} as well`,
    ...(addresses.length > 0
      ? addresses.map((address) => `${host}. IN ${isIP(address) === 6 ? 'AAAA' : 'A'} ${address}`)
      : [`; ${host}. IN A <its address>`]),
    '',
    ...domains.flatMap((domain) => [
      `; ${domain}`,
      `${domain}. IN MX 10 ${host}.`,
      `; who may send in its name: adapt it to whoever else does`,
      `${domain}. IN TXT "v=spf1 mx -all"`,
      service(`_imaps._tcp.${domain}.`, find(imap, true)),
      service(`_imap._tcp.${domain}.`, find(imap, false)),
      service(`_pop3s._tcp.${domain}.`, undefined),
      service(`_pop3._tcp.${domain}.`, undefined),
      service(`_submissions._tcp.${domain}.`, find(submission, true)),
      service(`_submission._tcp.${domain}.`, find(submission, false)),
      ...discovery(domain),
      ''
    ])
  ]
}

/**
 * @param {NodeJS.Dict<import('node:os').NetworkInterfaceInfo[]>} interfaces
 * @returns {string[]} addresses that the world can reach; empty behind a router that translates addresses
 */
export function publicAddresses(interfaces) {
  return Object.values(interfaces)
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !PRIVATE.test(address))
    .map(({ address }) => address)
}

/** RFC 1918, RFC 3927, RFC 6598, and IPv6's unique local and link-local addresses. */
const PRIVATE =
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|f[cd]|fe80)/i
