/**
 * The server's TLS certificate: the operator's, or a self-signed one that is made once.
 */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { writeFileDurably } from './write-file.js'

/** Ten years: nobody renews what was pinned by fingerprint; a public name wants the operator's own certificate. */
const SELF_SIGNED_DAYS = 3650
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * @typedef {object} Certificate
 * @property {Buffer} certificate - PEM chain
 * @property {Buffer} key - PEM private key
 * @property {string} fingerprint - SHA-256 of the leaf, colon-separated hex, as mail clients show it
 * @property {boolean} isSelfSigned - made here, so clients will ask whether to trust it
 */

/**
 * @param {import('./clock.js').Clock} clock
 * @returns {Promise<{ private: string, cert: string }>} PEM texts for localhost and this host's name
 */
async function makeSelfSigned(clock) {
  // Loaded once in a server's life: it takes as long as a third of the rest.
  const { generate } = await import('selfsigned')
  const notBeforeDate = new Date(clock.nowMs() - DAY_MS)
  const names = [...new Set(['localhost', hostname()])]
  return generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate,
    notAfterDate: new Date(notBeforeDate.getTime() + SELF_SIGNED_DAYS * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          ...names.map((value) => ({ type: /** @type {const} */ (2), value })),
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' }
        ]
      }
    ]
  })
}

/**
 * @param {object} options
 * @param {string} options.folder - where the self-signed certificate lives (<data>/tls)
 * @param {string} options.certificateFile - the operator's PEM chain, or empty
 * @param {string} options.keyFile - its private key, or empty
 * @param {import('./clock.js').Clock} options.clock
 * @returns {Promise<Certificate>}
 * @throws {MailError} CONFIG_INVALID when only one of the operator's files is named, or one cannot be read or parsed
 */
export async function loadCertificate({ folder, certificateFile, keyFile, clock }) {
  const isSelfSigned = certificateFile === '' && keyFile === ''
  if (!isSelfSigned && (certificateFile === '' || keyFile === '')) {
    throw new MailError('CONFIG_INVALID', { detail: 'tls.certificate and tls.key go together' })
  }
  const certificatePath = isSelfSigned ? join(folder, 'certificate.pem') : certificateFile
  const keyPath = isSelfSigned ? join(folder, 'key.pem') : keyFile
  if (isSelfSigned && !(existsSync(certificatePath) && existsSync(keyPath))) {
    const made = await makeSelfSigned(clock)
    await writeFileDurably(keyPath, made.private)
    await writeFileDurably(certificatePath, made.cert, { mode: 0o644 })
  }
  try {
    const certificate = await readFile(certificatePath)
    const key = await readFile(keyPath)
    const { fingerprint256 } = new X509Certificate(certificate)
    return { certificate, key, fingerprint: fingerprint256, isSelfSigned }
  } catch (cause) {
    throw new MailError('CONFIG_INVALID', {
      detail: `the certificate ${certificatePath} or its key ${keyPath} cannot be read`,
      cause
    })
  }
}
