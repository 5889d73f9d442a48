/**
 * All certificates of the server, read again when their files change: the main one, and those of other names, from folders
 * as certbot keeps them.
 */
import { X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { loadCertificate, readPair } from './certificate.js'

/** Files are looked at this often, ms; whoever cannot wait sends SIGHUP. */
const LOOK_MS = 30_000

/**
 * So often, in ms, the servers begin anew with the certificates that they have, and so with other keys for session tickets:
 * with such a key, whoever gets it later reads each recorded session of TLS 1.2 that was resumed (RFC 9325 §3.4 wants another
 * one every week).
 */
const RENEW_MS = 24 * 60 * 60_000

/** Codes of files that are missing or cannot be read: the system says the same until something about the files changes. */
const LASTING = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR', 'EISDIR', 'ELOOP'])

/** Names of the files in a folder of tls.otherFolders: certbot's; lego and acme.sh can be told to use them. */
export const CHAIN_FILE = 'fullchain.pem'
export const KEY_FILE = 'privkey.pem'

/**
 * @typedef {import('./certificate.js').Certificate} Certificate
 * @typedef {{ names: string[], cert: Buffer, key: Buffer }} OtherCertificate
 * @typedef {{ main: Certificate, others: OtherCertificate[] }} CertificateSet
 * @typedef {CertificateSet & { asRead: string }} LoadedCertificates - `asRead`: the state of the files before they were read
 * @typedef {{ name: string, endMs: number }} CertificateEnd - `name`: one of those that the certificate is for
 */

/**
 * @param {CertificateSet} certificates
 * @returns {CertificateEnd[]} the one that ends first comes first
 */
export function certificateEnds({ main, others }) {
  return [main.certificate, ...others.map(({ cert }) => cert)]
    .map((pem) => {
      const { subject = '', subjectAltName = '', validToDate } = new X509Certificate(pem)
      const name = /DNS:([^,\s"]+)/.exec(subjectAltName)?.[1] ?? subject
      return { name, endMs: validToDate.getTime() }
    })
    .sort((left, right) => left.endMs - right.endMs)
}

/**
 * Warns of certificates that have ended, and that no mail program accepts any more. A server starts with them all the same:
 * there may be nobody about who could renew them.
 *
 * @param {CertificateSet} certificates
 * @param {{ clock: import('./clock.js').Clock, logger: import('../telemetry/logger.js').Logger }} context
 */
export function warnOfEnded(certificates, { clock, logger }) {
  for (const { name, endMs } of certificateEnds(certificates))
    if (endMs < clock.nowMs())
      logger.warn({ name, endedAt: new Date(endMs).toISOString() }, 'a certificate has ended')
}

/**
 * @param {object} options
 * @param {string} options.folder - `<data>/tls`
 * @param {{ certificate: string, key: string, otherFolders: string[] }} options.tls - the settings
 * @param {import('./clock.js').Clock} options.clock
 * @returns {Promise<LoadedCertificates>}
 * @throws {MailError} CONFIG_INVALID where a file is missing, or the two of a pair are none
 */
export async function loadCertificates({ folder, tls, clock }) {
  const files = filesOf(folder, tls)
  const before = await statesOf(files)
  const main = await loadCertificate({
    folder,
    certificateFile: tls.certificate,
    keyFile: tls.key,
    clock
  })
  const others = await Promise.all(tls.otherFolders.map((name) => loadOther(resolve(name))))
  const after = before.includes('') ? await statesOf(files) : []
  // What was not there has been made just now.
  const asRead = before.map((state, at) => state || after[at]).join()
  return { main, others, asRead }
}

/**
 * @param {string} folder
 * @returns {Promise<OtherCertificate>}
 */
async function loadOther(folder) {
  const pair = await readPair(join(folder, CHAIN_FILE), join(folder, KEY_FILE))
  const { certificate: cert, key, leaf } = pair
  const { subjectAltName = '' } = leaf
  const names = [...subjectAltName.matchAll(/DNS:([^,\s"]+)/g)].map(([, name]) => String(name))
  return { names, cert, key }
}

/**
 * @param {object} options
 * @param {string} options.folder
 * @param {{ certificate: string, key: string, otherFolders: string[] }} options.tls
 * @param {import('./clock.js').Clock} options.clock
 * @param {LoadedCertificates} [options.inUse] - a start takes its time: their files may have been replaced meanwhile; default:
 *   they have not
 * @param {(certificates: LoadedCertificates) => void} options.onChange - with the same ones again, once a day
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @returns {{ reload: () => Promise<void>, close: () => void }} `reload` looks at once; what cannot be used is logged, and the
 *   certificates stay as they are
 */
export function watchCertificates({ folder, tls, clock, inUse, onChange, logger }) {
  const files = filesOf(folder, tls)
  let known = inUse ? Promise.resolve(inUse.asRead) : stateOf(files)
  let current = inUse
  let usedSinceMs = clock.nowMs()
  const use = (/** @type {LoadedCertificates} */ certificates) => {
    onChange(certificates)
    current = certificates
    usedSinceMs = clock.nowMs()
  }
  /** @returns {Promise<boolean>} false: another try may do better, though no file changes */
  const readAgain = async () => {
    try {
      const certificates = await loadCertificates({ folder, tls, clock })
      use(certificates)
      logger.info('certificates were read again')
      warnOfEnded(certificates, { clock, logger })
      return true
    } catch (err) {
      logger.error({ err }, 'the certificates cannot be read again; those in use stay')
      return !isPassing(err)
    }
  }
  const look = async () => {
    if (current && clock.nowMs() - usedSinceMs >= RENEW_MS) use(current)
    const before = await known
    known = stateOf(files)
    if ((await known) === before || (await readAgain())) return
    // The files were not read, and may not change again: so the next look must find the same change once more.
    known = Promise.resolve(before)
  }
  const timer = setInterval(look, LOOK_MS)
  timer.unref()
  const reload = async () => {
    await readAgain()
  }
  return { reload, close: () => clearInterval(timer) }
}

/**
 * @param {unknown} error - that a pair could not be read with
 * @returns {boolean} whether the system refused for now. Trouble with what is in the files, or with where they are, is the same
 *   at the next look, and would be told at every one
 */
function isPassing(error) {
  const { cause } = /** @type {{ cause?: unknown }} */ (error)
  const { code, errno } = /** @type {NodeJS.ErrnoException} */ (cause ?? error)
  return errno !== undefined && !LASTING.has(code ?? '')
}

/**
 * @param {string} folder - `<data>/tls`
 * @param {{ certificate: string, key: string, otherFolders: string[] }} tls - the settings
 * @returns {string[]} all files that certificates and keys are read from
 */
function filesOf(folder, tls) {
  const isSelfSigned = tls.certificate === ''
  return [
    isSelfSigned ? join(folder, 'certificate.pem') : tls.certificate,
    isSelfSigned ? join(folder, 'key.pem') : tls.key,
    ...tls.otherFolders.flatMap((name) => [
      join(resolve(name), CHAIN_FILE),
      join(resolve(name), KEY_FILE)
    ])
  ]
}

/**
 * @param {string[]} files
 * @returns {Promise<string[]>} one for each: differs when it was replaced, or has got another owner or other rights, links
 *   followed; empty where there is none
 */
async function statesOf(files) {
  const states = files.map(async (file) => {
    const found = await stat(file).catch(() => null)
    return found === null ? '' : `${found.ino} ${found.size} ${found.ctimeMs}`
  })
  return await Promise.all(states)
}

/**
 * @param {string[]} files
 * @returns {Promise<string>} the states of all
 */
const stateOf = async (files) => (await statesOf(files)).join()
