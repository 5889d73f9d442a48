/**
 * Ports and certificates.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { CHAIN_FILE, KEY_FILE } from '../../support/certificates.js'
import { parseListenAddress } from '../../support/listen-address.js'
import { isLoopback } from '../../support/loopback.js'
import { plainText } from '../plain-text.js'
import { formatTime } from '../with-accounts.js'
import { bad, doubtful, good } from './finding.js'
import { counted } from '../../support/format.js'

/** @import { ListenAddress } from '../../support/listen-address.js' */
/** @import { Finding } from './finding.js' */

/** @typedef {import('../../../config/load.js').Config} Config */

const DAY_MS = 24 * 3_600_000
/** Certificates of 90 days are renewed 30 days before they end: with less than this left, the renewal is overdue. */
const RENEWAL_DAYS = 21
const LISTENERS = /** @type {const} */ (['imap', 'imaps', 'lmtp', 'admin', 'userPage', 'discovery'])
/** How long a listener may take to say who it is, ms. */
const GREETING_MS = 2000
/** A listener behind a proxy greets only after a PROXY header; UNKNOWN: the proxy itself connects. */
const PROXY_HEADER = 'PROXY UNKNOWN\r\n'

/**
 * @param {ListenAddress} where
 * @returns {Promise<string>} the system's code where we cannot listen there; empty where we can
 */
function tryToListen(where) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => {
      resolve(/** @type {NodeJS.ErrnoException} */ (error).code ?? 'unknown')
    })
    server.listen({ ...where, exclusive: true }, () => server.close(() => resolve('')))
  })
}

/**
 * @param {ListenAddress} where
 * @returns {Promise<boolean>} whether somebody listens there
 */
function isAnswered(where) {
  return new Promise((resolve) => {
    const socket = createConnection(where)
    const end = (/** @type {boolean} */ isThere) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.setTimeout(GREETING_MS, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}

/**
 * @param {ListenAddress} where
 * @param {boolean} isProxied - whether the listener waits for a PROXY header
 * @returns {Promise<string>} what the listener says first; empty where it waits for us, or turns us away
 */
function greeting(where, isProxied) {
  return new Promise((resolve) => {
    const socket = createConnection(where)
    if (isProxied) socket.write(PROXY_HEADER)
    const end = (/** @type {string} */ text) => {
      socket.destroy()
      resolve(text)
    }
    socket.setTimeout(GREETING_MS, () => end(''))
    socket.once('data', (chunk) => end(chunk.toString('latin1')))
    socket.once('error', () => end(''))
    socket.once('end', () => end(''))
  })
}

/**
 * @param {string} said - the greeting of IMAP or LMTP
 * @returns {string | null} the text of a refusal: BYE or 421; null: the greeting is none
 */
function refusalIn(said) {
  const text = /^(?:\* BYE|421) ([^\r\n]*)/i.exec(said)?.[1]
  return text === undefined ? null : plainText(text)
}

/**
 * @param {(typeof LISTENERS)[number]} name
 * @param {ListenAddress} where
 * @param {{ listen: string, isProxied?: boolean }} settings - `listen` is `where` as the operator has written it
 * @returns {Promise<Finding>}
 */
async function checkPort(name, where, { listen, isProxied = false }) {
  const title = `port ${name}`
  const code = await tryToListen(where)
  if (code === '') return good(title, `${listen} is free`)
  // The system looks at permission first: EACCES comes also where a server which has that permission listens.
  if (code === 'EACCES' && !(await isAnswered(where))) {
    return bad(
      title,
      `${listen} may not be used by this user`,
      'Ports below 1024 need the capability to bind them: docs/operations.md has ways; or choose a higher one'
    )
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return bad(
      title,
      `${listen} is no address of this machine`,
      `Set ${name}.listen to one of its own`
    )
  }
  if (code !== 'EADDRINUSE' && code !== 'EACCES')
    return bad(title, `${listen}: ${code}`, 'See what the code means')
  const isSpoken = name === 'imap' || name === 'lmtp'
  if (!isSpoken)
    return good(title, `${listen} is in use; by the running server, if port imap says so`)
  const said = await greeting(where, isProxied)
  if (said.includes('Letterlock')) return good(title, `${listen}: Letterlock answers there`)
  if (isProxied && said === '')
    return good(
      title,
      `${listen} is in use, and answers the proxies of proxy.trustedAddresses alone`
    )
  const refusal = refusalIn(said)
  if (refusal !== null)
    return bad(
      title,
      `${listen} turns sessions away: ${refusal}`,
      'Of a Letterlock that means too many connections, or too little memory: see pressure in /health/deep'
    )
  const advice = `Find it: ss -ltnp | grep :${where.port}`
  if (said === '') return bad(title, `${listen} is in use by a program that says nothing`, advice)
  return bad(title, `${listen} is in use by another program`, advice)
}

/**
 * @param {Config} config
 * @returns {Promise<Finding[]>}
 */
export async function checkPorts(config) {
  /** @type {Finding[]} */
  const findings = []
  for (const name of LISTENERS) {
    const settings = config[name]
    const where = parseListenAddress(settings.listen)
    if (where !== null) findings.push(await checkPort(name, where, settings))
  }
  const admin = parseListenAddress(config.admin.listen)
  const isLocal = admin === null || isLoopback(admin.host) || admin.host === 'localhost'
  if (!isLocal && !config.admin.isTls) {
    findings.push(
      doubtful(
        'admin',
        'The admin interface listens beyond this machine without TLS',
        'Set admin.isTls, or listen on 127.0.0.1: tokens are refused over the network in the clear'
      )
    )
  }
  return findings
}

/**
 * @param {Config} config
 * @param {number} nowMs
 * @returns {Promise<Finding[]>} the main one's, and one for each folder of others
 */
export async function checkCertificates({ tls, data }, nowMs) {
  const isOwn = tls.certificate !== ''
  const folder = join(data, 'tls')
  const main = {
    name: 'certificate',
    certificateFile: isOwn ? tls.certificate : join(folder, 'certificate.pem'),
    keyFile: isOwn ? tls.key : join(folder, 'key.pem')
  }
  const others = tls.otherFolders.map((other) => ({
    name: `certificate ${other}`,
    certificateFile: join(other, CHAIN_FILE),
    keyFile: join(other, KEY_FILE)
  }))
  return [
    await checkPair(main, isOwn, nowMs),
    ...(await Promise.all(others.map((pair) => checkPair(pair, true, nowMs))))
  ]
}

/**
 * @param {{ name: string, certificateFile: string, keyFile: string }} pair
 * @param {boolean} isOwn - true: the pair is the operator's; false: the server has signed it itself
 * @param {number} nowMs
 * @returns {Promise<Finding>}
 */
async function checkPair({ name, certificateFile, keyFile }, isOwn, nowMs) {
  try {
    const certificate = new X509Certificate(await readFile(certificateFile))
    const days = Math.floor((Date.parse(certificate.validTo) - nowMs) / DAY_MS)
    const names = certificate.subjectAltName ?? certificate.subject
    if (!certificate.checkPrivateKey(createPrivateKey(await readFile(keyFile)))) {
      return bad(
        name,
        'The key is not the certificate’s',
        `Give both of one pair: ${certificateFile}, ${keyFile}`
      )
    }
    if (days < 0)
      return bad(
        name,
        `It ended at ${formatTime(Date.parse(certificate.validTo))}`,
        'Renew it: a running server reads it by itself'
      )
    if (Date.parse(certificate.validFrom) > nowMs) {
      return bad(name, 'It is not valid yet', 'Look at the clock of this machine')
    }
    if (!isOwn) {
      return doubtful(
        name,
        `Self-signed, for ${names}`,
        'Set tls.certificate and tls.key to one that mail programs trust'
      )
    }
    return days < RENEWAL_DAYS
      ? doubtful(
          name,
          `It ends in ${counted(days, 'day')}`,
          'Renew it: its tool should have done so by now'
        )
      : good(name, `For ${names}, for another ${counted(days, 'day')}`)
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code === 'ENOENT' && !isOwn)
      return good(name, 'A self-signed one is made at the first start')
    return bad(
      name,
      `It cannot be read (${code ?? 'not PEM'})`,
      `Look at ${certificateFile} and ${keyFile}: the server’s user must be able to read both`
    )
  }
}
