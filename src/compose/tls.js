/**
 * One set of certificates, in the form in which each of the servers takes it.
 */

/** @import { Servers } from './doors.js' */
/** @import { LmtpTls } from '../delivery/lmtp-service.js' */
/** @import { TlsSettings } from '../imap/session/tls-context.js' */
/** @import { CertificateSet } from '../support/certificates.js' */

/**
 * @param {CertificateSet} certificates
 * @returns {TlsSettings}
 */
export const tlsSettingsOf = ({ main: { certificate, key }, others }) => ({
  cert: certificate,
  key,
  others
})

/**
 * @param {CertificateSet} certificates
 * @returns {LmtpTls}
 */
export const lmtpTlsOf = ({ main, others }) => ({ ...main, others })

/**
 * @param {Servers} servers - they use the new certificates from the next handshake on
 * @param {CertificateSet} certificates
 */
export function replaceCertificates({ imap, lmtp, admin, userPage, discovery }, certificates) {
  const settings = tlsSettingsOf(certificates)
  imap.replaceCertificate(settings)
  lmtp.replaceCertificate(lmtpTlsOf(certificates))
  admin.replaceCertificates(certificates)
  userPage?.replaceCertificate(settings)
  discovery?.replaceCertificate(settings)
}
