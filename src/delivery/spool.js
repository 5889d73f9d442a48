/**
 * The spool of one account: sealed mail that waits for its owner.
 *
 *     spool/tmp/<name>.sealed     being written; left behind by a crash, removed an hour later
 *     spool/<name>.sealed         arrived; durable before anybody is told
 *     spool/aside/<name>.sealed   does not open; kept for the operator
 *
 * `<name>` is random: outside of a file stand only the account's folder, the name and the padded size.
 * Order: write, fsync the file, rename it into spool/, fsync spool/. Nothing is ever written in the clear.
 */

import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MailError } from '../errors.js'
import { Sealer } from '../crypto/age.js'
import { syncFolder } from '../support/write-file.js'
import { SpoolPlaintextWriter } from './spool-format.js'

/** @typedef {import('./spool-format.js').SpoolEnvelope} SpoolEnvelope */

const TEMPORARY_FOLDER = 'tmp'
const ASIDE_FOLDER = 'aside'
const NAME = /^[0-9a-f]{32}\.sealed$/
const FULL_DISK_CODES = new Set(['ENOSPC', 'EDQUOT'])
/** What speaks of one file; anything else (no descriptors left, a file that went away) passes. */
const UNREADABLE_CODES = new Set(['EIO', 'EACCES', 'EPERM', 'EISDIR', 'ELOOP'])
/** Read at a time, in bytes: about one sealed chunk. */
const READ_BYTES = 64 * 1024

/**
 * Age after which a file in tmp/ belongs to nobody: a delivery moves its file at every write, and no
 * delivery may be silent for so long.
 */
const LEFTOVER_AGE_MS = 60 * 60 * 1000

/**
 * @typedef {object} SpoolFile
 * @property {string} name - within the spool folder
 * @property {number} bytes - on disk
 * @property {bigint} changedAtNs - mtime, which orders arrivals
 */

/** Microseconds since 1970 of the arrival before; see `nextArrivalSeconds`. */
let lastArrivalUs = 0

/**
 * The kernel's own mtime moves in steps of some ms, and what one sender delivers within such a step must
 * still come into INBOX in its order. So the file gets its time from here, never the same twice in a process.
 *
 * @param {number} receivedAtMs
 * @returns {number}
 */
function nextArrivalSeconds(receivedAtMs) {
  lastArrivalUs = Math.max(lastArrivalUs + 1, receivedAtMs * 1000)
  return lastArrivalUs / 1_000_000
}

/** Seals one message into one spool file as it streams by; holds about 128 KiB. */
export class SpoolWriter {
  #spoolFolder
  #name
  #handle
  #sealer
  #plaintext
  #bytes = 0
  /** @type {Buffer[]} sealed bytes that the next write takes along: the header, while it is alone */
  #pending
  #arrivalSeconds

  /**
   * @param {object} options
   * @param {string} options.spoolFolder - absolute; made where it is missing, but the account's folder is not
   * @param {Buffer} options.publicKey - the account's sealing key, 1,216 bytes
   * @param {SpoolEnvelope} options.envelope
   * @returns {Promise<SpoolWriter>}
   * @throws {MailError} SEAL_FAILED, DISK_FULL or NOT_DURABLE
   */
  static async open({ spoolFolder, publicKey, envelope }) {
    const plaintext = new SpoolPlaintextWriter()
    const start = plaintext.start(envelope)
    const sealer = new Sealer(publicKey)
    const pending = [sealer.start(), ...sealer.push(start)]
    const name = `${randomBytes(16).toString('hex')}.sealed`
    const path = join(spoolFolder, TEMPORARY_FOLDER, name)
    const handle = await asMailError(async () => {
      await makeSpoolFolders(spoolFolder)
      return open(path, 'wx', 0o600)
    })
    const arrivalSeconds = nextArrivalSeconds(envelope.receivedAtMs)
    return new SpoolWriter({
      spoolFolder,
      name,
      handle,
      sealer,
      plaintext,
      pending,
      arrivalSeconds
    })
  }

  /**
   * Use `SpoolWriter.open`.
   *
   * @param {object} parts
   * @param {string} parts.spoolFolder
   * @param {string} parts.name
   * @param {import('node:fs/promises').FileHandle} parts.handle
   * @param {Sealer} parts.sealer
   * @param {SpoolPlaintextWriter} parts.plaintext
   * @param {Buffer[]} parts.pending
   * @param {number} parts.arrivalSeconds - for the file's mtime
   */
  constructor({ spoolFolder, name, handle, sealer, plaintext, pending, arrivalSeconds }) {
    this.#spoolFolder = spoolFolder
    this.#name = name
    this.#handle = handle
    this.#sealer = sealer
    this.#plaintext = plaintext
    this.#pending = pending
    this.#arrivalSeconds = arrivalSeconds
  }

  /**
   * @param {Buffer} bytes - the next bytes of the message
   * @returns {Promise<void>} when the disk's cache has taken what is ready: wait for it before the next
   * @throws {MailError} DISK_FULL or NOT_DURABLE; `abort` is then due
   */
  async write(bytes) {
    for (const piece of this.#plaintext.block(bytes)) this.#seal(piece)
    // The header alone is worth no system call: a short message goes out in one.
    if (this.#pending.length > 1) await this.#flush()
  }

  /**
   * Ends the file and makes it durable.
   *
   * @returns {Promise<{ name: string, bytes: number }>} its name in the spool folder, and its size on disk
   * @throws {MailError} DISK_FULL or NOT_DURABLE; the file may then be there or not, `abort` removes it
   */
  async finish() {
    for (const piece of this.#plaintext.end()) {
      this.#seal(piece)
      if (this.#pending.length > 1) await this.#flush()
    }
    this.#pending.push(...this.#sealer.end())
    await this.#flush()
    await asMailError(async () => {
      await this.#handle.utimes(this.#arrivalSeconds, this.#arrivalSeconds)
      await this.#handle.sync()
      await this.#handle.close()
      await rename(this.#temporaryPath, join(this.#spoolFolder, this.#name))
      await syncFolder(this.#spoolFolder)
    })
    return { name: this.#name, bytes: this.#bytes }
  }

  /** Removes what was written. Harmless at any time before `finish` has resolved. */
  async abort() {
    this.#sealer.destroy()
    this.#pending = []
    await asMailError(async () => {
      await this.#handle.close()
      await removeIfThere(this.#temporaryPath)
      await removeIfThere(join(this.#spoolFolder, this.#name))
    })
  }

  get #temporaryPath() {
    return join(this.#spoolFolder, TEMPORARY_FOLDER, this.#name)
  }

  /** @param {Buffer} plaintext */
  #seal(plaintext) {
    this.#pending.push(...this.#sealer.push(plaintext))
  }

  async #flush() {
    const pieces = this.#pending
    this.#pending = []
    this.#bytes += await asMailError(() => writeAll(this.#handle, pieces))
  }
}

/**
 * @param {object} options
 * @param {string} options.spoolFolder
 * @param {Buffer} options.publicKey
 * @param {SpoolEnvelope} options.envelope
 * @param {AsyncIterable<Buffer> | Iterable<Buffer>} options.message
 * @returns {Promise<{ name: string, bytes: number }>} once it is durable
 * @throws {MailError} SEAL_FAILED, DISK_FULL or NOT_DURABLE; then nothing is left of the file
 */
export async function writeSpoolFile({ spoolFolder, publicKey, envelope, message }) {
  const writer = await SpoolWriter.open({ spoolFolder, publicKey, envelope })
  try {
    for await (const chunk of message) await writer.write(chunk)
    return await writer.finish()
  } catch (error) {
    await writer.abort()
    throw error
  }
}

/**
 * @param {string} spoolFolder
 * @returns {Promise<SpoolFile[]>} what has arrived, the oldest first; empty where there is no spool yet
 * @throws {MailError} NOT_DURABLE where the folder cannot be read
 */
export async function listSpool(spoolFolder) {
  const names = (await asMailError(() => readFolder(spoolFolder))).filter((name) => NAME.test(name))
  const files = []
  for (const name of names) {
    const status = await statIfThere(join(spoolFolder, name))
    if (status === null) continue
    files.push({ name, bytes: Number(status.size), changedAtNs: status.mtimeNs })
  }
  return files.sort((a, b) => Number(a.changedAtNs - b.changedAtNs) || (a.name < b.name ? -1 : 1))
}

/**
 * @param {string} spoolFolder
 * @param {string} name
 * @yields {Buffer} its sealed bytes, 64 KiB at a time, each in a buffer of its own
 * @throws {MailError} UNSEAL_FAILED where the disk does not give the file back, BUSY where this process
 *   lacks the means for now
 */
export async function* readSpoolFile(spoolFolder, name) {
  const handle = await asReadError(() => open(join(spoolFolder, name), 'r'))
  try {
    for (;;) {
      const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
      const { bytesRead } = await asReadError(() => handle.read(buffer, 0, READ_BYTES))
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

/**
 * @param {string} spoolFolder
 * @param {string} name
 * @returns {Promise<void>} when the file lies in aside/, durably
 */
export async function setAsideSpoolFile(spoolFolder, name) {
  const asideFolder = join(spoolFolder, ASIDE_FOLDER)
  await asMailError(async () => {
    await makeFolder(asideFolder)
    await rename(join(spoolFolder, name), join(asideFolder, name))
    await syncFolder(asideFolder)
    await syncFolder(spoolFolder)
  })
}

/**
 * @param {string} spoolFolder
 * @returns {Promise<string[]>} names of the files that were set aside
 */
export async function listAside(spoolFolder) {
  return (await readFolder(join(spoolFolder, ASIDE_FOLDER))).filter((name) => NAME.test(name))
}

/**
 * @param {string} spoolFolder
 * @param {readonly string[]} names
 * @returns {Promise<void>} when none of the files can come back after a power cut
 */
export async function removeSpoolFiles(spoolFolder, names) {
  if (names.length === 0) return
  await asMailError(async () => {
    for (const name of names) await removeIfThere(join(spoolFolder, name))
    await syncFolder(spoolFolder)
  })
}

/**
 * Removes what deliveries left in tmp/ when they were killed.
 *
 * @param {object} options
 * @param {string} options.spoolFolder
 * @param {import('../support/clock.js').Clock} options.clock
 * @returns {Promise<number>} files removed
 */
export async function cleanSpoolLeftovers({ spoolFolder, clock }) {
  const folder = join(spoolFolder, TEMPORARY_FOLDER)
  let removed = 0
  for (const name of await readFolder(folder)) {
    if (!NAME.test(name)) continue
    const status = await statIfThere(join(folder, name))
    if (status === null || clock.nowMs() - Number(status.mtimeMs) < LEFTOVER_AGE_MS) continue
    await removeIfThere(join(folder, name))
    removed += 1
  }
  return removed
}

/**
 * Makes spool/ and spool/tmp/. Not the account's folder: an account that was deleted a moment ago must not
 * come back as a folder.
 *
 * @param {string} spoolFolder
 */
async function makeSpoolFolders(spoolFolder) {
  await makeFolder(spoolFolder)
  await makeFolder(join(spoolFolder, TEMPORARY_FOLDER))
}

/** @param {string} folder */
async function makeFolder(folder) {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    throw error
  }
  await syncFolder(dirname(folder))
}

/**
 * @param {import('node:fs/promises').FileHandle} handle
 * @param {Buffer[]} pieces
 * @returns {Promise<number>} bytes
 */
async function writeAll(handle, pieces) {
  let written = 0
  let rest = pieces
  while (rest.length > 0) {
    let { bytesWritten } = await handle.writev(rest)
    written += bytesWritten
    // A disk that is nearly full takes a part; the next call then says why.
    while (rest[0] !== undefined && bytesWritten >= rest[0].length) {
      bytesWritten -= rest[0].length
      rest = rest.slice(1)
    }
    if (rest[0] !== undefined) rest = [rest[0].subarray(bytesWritten), ...rest.slice(1)]
  }
  return written
}

/** @param {string} folder */
async function readFolder(folder) {
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** @param {string} path */
async function statIfThere(path) {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** @param {string} path */
async function removeIfThere(path) {
  try {
    await unlink(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/**
 * @template T
 * @param {() => Promise<T>} work - on files
 * @returns {Promise<T>}
 */
async function asMailError(work) {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof MailError) throw cause
    const code = FULL_DISK_CODES.has(codeOf(cause)) ? 'DISK_FULL' : 'NOT_DURABLE'
    throw new MailError(code, { detail: `spool: ${codeOf(cause)}`, cause })
  }
}

/**
 * @template T
 * @param {() => Promise<T>} work - that reads one file
 * @returns {Promise<T>}
 */
async function asReadError(work) {
  try {
    return await work()
  } catch (cause) {
    const code = UNREADABLE_CODES.has(codeOf(cause)) ? 'UNSEAL_FAILED' : 'BUSY'
    throw new MailError(code, { detail: `spool: ${codeOf(cause)}`, cause })
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return String(/** @type {{ code?: unknown } | null} */ (error)?.code ?? 'unknown')
}
