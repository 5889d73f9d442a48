/**
 * The TLS context of a listener's handshakes: the certificate for the name that the client asks for (RFC 6066 §3), and the
 * listener's protocol where the client names some (RFC 7301; `imap` comes from RFC 2595). A client that asks for other
 * protocols alone is refused: on the IMAP port it would be a browser that somebody has sent there.
 */
import { createSecureContext } from 'node:tls'
import { TLS_POLICY } from '../../support/tls-policy.js'

/** @import { SecureContext, SecureContextOptions } from 'node:tls' */

/**
 * @typedef {SecureContextOptions & { others?: readonly NamedCertificate[] }} TlsSettings - certificate and key, and those of
 *   other names
 *
 * @typedef {object} NamedCertificate
 * @property {readonly string[]} names - DNS names, one may begin with `*.`
 * @property {Buffer | string} cert - PEM chain
 * @property {Buffer | string} key - PEM
 */

/**
 * @typedef {object} TlsContext - options of tls.TLSSocket, by its names
 * @property {SecureContext} secureContext
 * @property {string[]} ALPNProtocols
 * @property {(name: string, done: (error: null, context?: SecureContext) => void) => void} [SNICallback] - only where there
 *   is more than one certificate: it costs each connection some memory
 */

/** IANA's registry has it from RFC 2595. */
const PROTOCOLS = ['imap']

/**
 * @param {TlsSettings} settings
 * @param {string[]} [protocols] - `imap` unless told
 * @returns {TlsContext}
 * @throws {Error} OpenSSL's, where a certificate and its key do not fit
 */
export function makeTlsContext({ others = [], ...main }, protocols = PROTOCOLS) {
  const secureContext = contextOf(main)
  if (others.length === 0) return { secureContext, ALPNProtocols: protocols }
  /** @type {Map<string, SecureContext>} */
  const byName = new Map()
  for (const { names, cert, key } of others) {
    const context = contextOf({ cert, key })
    for (const name of names) byName.set(name.toLowerCase(), context)
  }
  return {
    secureContext,
    ALPNProtocols: protocols,
    SNICallback: (asked, done) => {
      const name = asked.toLowerCase()
      // RFC 6125 §6.4.3: a wildcard stands for one label.
      done(null, byName.get(name) ?? byName.get(name.replace(/^[^.]+/, '*')) ?? secureContext)
    }
  }
}

/**
 * @param {SecureContextOptions} options
 * @returns {SecureContext}
 */
function contextOf(options) {
  // Without a session id context OpenSSL refuses to resume sessions.
  return createSecureContext({ ...TLS_POLICY, sessionIdContext: 'letterlock', ...options })
}
