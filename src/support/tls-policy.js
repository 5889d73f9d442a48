/**
 * What every door with TLS permits, by RFC 9325: TLS 1.2 at the least (§3.1.1), and no key transport by RSA (§4.1), with which
 * whoever gets the server's key some day reads all that was recorded before. Node permits that where the certificate is an
 * RSA one.
 *
 * The rest is Node's choice and moves with it; TLS 1.3 with the hybrid group X25519MLKEM768 is what it prefers. Operators who
 * must permit less give Node its own options (docs/security.md); those that permit older versions change nothing here.
 */
import { DEFAULT_CIPHERS, DEFAULT_MIN_VERSION } from 'node:tls'

/** Options of `tls.createSecureContext`. */
export const TLS_POLICY = Object.freeze({
  minVersion: DEFAULT_MIN_VERSION === 'TLSv1.3' ? 'TLSv1.3' : 'TLSv1.2',
  ciphers: `${DEFAULT_CIPHERS}:!kRSA`
})
