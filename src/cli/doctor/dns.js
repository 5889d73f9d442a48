/**
 * The DNS lines by which mail and mail programs find this host.
 */

/** Of RFC 8314 §3 and RFC 3501, where the configured port is not reached from outside under its own number. */
const STANDARD = Object.freeze({ imap: 143, imaps: 993 })

/**
 * @param {string} listen - HOST:PORT or `off`
 * @param {number} standard
 * @returns {number | null} the port that clients use; null for none
 */
function publicPort(listen, standard) {
  if (listen === 'off') return null
  const colon = listen.lastIndexOf(':')
  const host = listen.slice(0, colon)
  const isLocal = host.startsWith('127.') || host === '[::1]' || host === 'localhost'
  // On loopback something else stands before it, at the usual place.
  return isLocal ? standard : Number(listen.slice(colon + 1))
}

/**
 * @param {object} input
 * @param {string[]} input.domains
 * @param {string} input.host - this host's public name
 * @param {{ imap: { listen: string }, imaps: { listen: string } }} input.config
 * @returns {string[]} a zone file's lines
 */
export function dnsLines({ domains, host, config }) {
  const imaps = publicPort(config.imaps.listen, STANDARD.imaps)
  const imap = publicPort(config.imap.listen, STANDARD.imap)
  const service = (/** @type {string} */ name, /** @type {number | null} */ port) =>
    // A target of "." says that there is no such service (RFC 6186 §3.4).
    port === null ? `${name} IN SRV 0 0 0 .` : `${name} IN SRV 0 1 ${port} ${host}.`
  return domains.flatMap((domain) => [
    `; ${domain}`,
    `${domain}. IN MX 10 ${host}.`,
    service(`_imaps._tcp.${domain}.`, imaps),
    service(`_imap._tcp.${domain}.`, imap),
    service(`_pop3._tcp.${domain}.`, null),
    service(`_pop3s._tcp.${domain}.`, null),
    `; the mail transfer agent’s: submission over TLS`,
    `_submissions._tcp.${domain}. IN SRV 0 1 465 ${host}.`,
    ''
  ])
}
