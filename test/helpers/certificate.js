/**
 * The certificate that a server makes for itself where it finds none, made once for all tests of a checkout: the library that
 * makes it takes longer to load than all else of a server.
 */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync
} from 'node:fs'
import { rename } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadCertificate } from '../../src/support/certificate.js'
import { systemClock } from '../../src/support/clock.js'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/certificates', import.meta.url))
const MAKER = new URL('../../src/support/certificate.js', import.meta.url)
const FILES = ['key.pem', 'certificate.pem']

/** @returns {Promise<string>} a folder with the two files, made by the code as it is now, for this host */
async function madeOnce() {
  const maker = createHash('sha256').update(readFileSync(MAKER)).update(hostname())
  const made = join(CACHE, maker.digest('hex').slice(0, 16))
  if (existsSync(made)) return made
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'new-'))
  await loadOwn(folder)
  try {
    await rename(folder, made)
  } catch (error) {
    // Another test has made the folder meanwhile: its certificate is as good.
    rmSync(folder, { recursive: true })
    if (!existsSync(made)) throw error
  }
  return made
}

/**
 * @param {string} data - the data folder of a server; a certificate that it has stays, and to the folder of another user, as
 *   whom a server that root starts goes on, none is given
 */
export async function giveCertificate(data) {
  const folder = join(data, 'tls')
  if (existsSync(folder) || statSync(data).uid !== process.getuid?.()) return
  const made = await madeOnce()
  mkdirSync(folder, { mode: 0o700 })
  for (const name of FILES) copyFileSync(join(made, name), join(folder, name))
}

/**
 * @param {string} data - as of `giveCertificate`
 * @returns {Promise<import('../../src/support/certificate.js').Certificate>}
 */
export async function certificateIn(data) {
  await giveCertificate(data)
  return await loadOwn(join(data, 'tls'))
}

/** @param {string} folder */
const loadOwn = (folder) =>
  loadCertificate({ folder, certificateFile: '', keyFile: '', clock: systemClock })
