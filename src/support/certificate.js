/**
 * The server's TLS certificate: the operator's, or a self-signed one that is made once.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { isThere } from './is-there.js'
import { writeFileDurably } from './write-file.js'

/** Ten years: nobody renews what was pinned by fingerprint; a public name wants the operator's own certificate. */
const SELF_SIGNED_DAYS = 3650
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * No clock that is right is before this. The clock of a machine that has just booted may say 1970, or a year to come, and is
 * set right a moment later: then the certificate must be valid as well.
 */
const EARLIEST_MS = Date.UTC(2026, 0, 1)

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
  // Loaded only here, once in a server's life: loading it takes a third as long as loading all the rest.
  const { generate } = await import('selfsigned')
  const notBeforeDate = new Date(EARLIEST_MS)
  const madeMs = Math.max(EARLIEST_MS, clock.nowMs())
  const names = [...new Set(['localhost', hostname()])]
  return generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate,
    notAfterDate: new Date(madeMs + SELF_SIGNED_DAYS * DAY_MS),
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
 * Reads a pair as a server will, so that what is no pair is found before one is started with it.
 *
 * @param {string} certificateFile - PEM chain
 * @param {string} keyFile - PEM
 * @returns {Promise<{ certificate: Buffer, key: Buffer, leaf: X509Certificate }>}
 * @throws {MailError} CONFIG_INVALID
 */
export async function readPair(certificateFile, keyFile) {
  const readOne = async (/** @type {string} */ file) => {
    try {
      return await readFile(file)
    } catch (cause) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
      throw new MailError('CONFIG_INVALID', { detail: `${file} cannot be read: ${code}`, cause })
    }
  }
  const certificate = await readOne(certificateFile)
  const key = await readOne(keyFile)
  const leaf = parse(certificateFile, 'certificate', () => new X509Certificate(certificate))
  const privateKey = parse(keyFile, 'private key', () => createPrivateKey(key))
  if (!leaf.checkPrivateKey(privateKey))
    throw new MailError('CONFIG_INVALID', {
      detail: `the key in ${keyFile} is not that of the certificate in ${certificateFile}`
    })
  return { certificate, key, leaf }
}

/**
 * @template T
 * @param {string} file
 * @param {string} what - the file should be
 * @param {() => T} read
 * @returns {T}
 */
function parse(file, what, read) {
  try {
    return read()
  } catch (cause) {
    throw new MailError('CONFIG_INVALID', { detail: `${file} holds no ${what} in PEM`, cause })
  }
}

/**
 * @param {object} options
 * @param {string} options.folder - where the self-signed certificate lives (<data>/tls)
 * @param {string} options.certificateFile - the operator's PEM chain, or empty
 * @param {string} options.keyFile - its private key, or empty
 * @param {import('./clock.js').Clock} options.clock
 * @returns {Promise<Certificate>}
 * @throws {MailError} CONFIG_INVALID when only one of the operator's files is named, one cannot be read or parsed, or they are
 *   no pair
 */
export async function loadCertificate({ folder, certificateFile, keyFile, clock }) {
  const isSelfSigned = certificateFile === '' && keyFile === ''
  if (!isSelfSigned && (certificateFile === '' || keyFile === '')) {
    throw new MailError('CONFIG_INVALID', { detail: 'tls.certificate and tls.key go together' })
  }
  const certificatePath = isSelfSigned ? join(folder, 'certificate.pem') : certificateFile
  const keyPath = isSelfSigned ? join(folder, 'key.pem') : keyFile
  if (isSelfSigned && !((await isThere(certificatePath)) && (await isThere(keyPath)))) {
    const made = await makeSelfSigned(clock)
    await writeFileDurably(keyPath, made.private)
    await writeFileDurably(certificatePath, made.cert, { mode: 0o644 })
  }
  const { certificate, key, leaf } = await readPair(certificatePath, keyPath)
  return { certificate, key, fingerprint: leaf.fingerprint256, isSelfSigned }
}
