/**
 * Writes a spool file: seals the message as it streams by, and makes the file durable before anybody is told.
 *
 *     spool/tmp/<name>.sealed ─ write … fsync ─► rename ─► spool/<name>.sealed ─► fsync spool/
 *
 * Nothing is ever written in the clear, and no message lies in memory as a whole.
 */

import { randomBytes } from 'node:crypto'
import { closeSync, fsync, futimes, open, rename, writev } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Sealer } from '../crypto/age.js'
import { MailError } from '../errors.js'
import { syncFolder } from '../support/write-file.js'
import { TEMPORARY_FOLDER, asMailError, codeOf, makeFolder, removeIfThere } from './spool-files.js'
import { SpoolPlaintextWriter } from './spool-format.js'

/** @typedef {import('./spool-format.js').SpoolEnvelope} SpoolEnvelope */

// A bare descriptor, not a FileHandle: closing one would take a turn of the thread pool, too.
const openFile = promisify(open)
const writePieces = promisify(writev)
const setTimes = promisify(futimes)
const syncFile = promisify(fsync)
const renameFile = promisify(rename)

/** The time given to the arrival before, in microseconds since 1970; see `nextArrivalSeconds`. */
let lastArrivalUs = 0

/** Arrival times so many microseconds ahead of the clock mean that the clock was set back: no sender brings that many. */
const MAX_AHEAD_US = 60_000_000

/**
 * The kernel's own mtime moves in steps of some ms, and what one sender delivers within such a step must
 * still come into INBOX in its order. So the file gets its time from here, never the same twice in a process.
 *
 * @param {number} receivedAtMs
 * @returns {number} seconds since 1970, later than the last one
 */
function nextArrivalSeconds(receivedAtMs) {
  const receivedAtUs = receivedAtMs * 1000
  const isSetBack = lastArrivalUs - receivedAtUs > MAX_AHEAD_US
  lastArrivalUs = isSetBack ? receivedAtUs : Math.max(lastArrivalUs + 1, receivedAtUs)
  return lastArrivalUs / 1_000_000
}

/** Seals one message into one spool file as it streams by; holds about 128 KiB. */
export class SpoolWriter {
  #spoolFolder
  #name
  /** @type {number | null} null once it is closed */
  #descriptor
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
    // Taken before anything is awaited, so that the recipients of one message keep their order.
    const arrivalSeconds = nextArrivalSeconds(envelope.receivedAtMs)
    const sealer = new Sealer(publicKey)
    const pending = [sealer.start(), ...sealer.push(start)]
    const name = `${randomBytes(16).toString('hex')}.sealed`
    const path = join(spoolFolder, TEMPORARY_FOLDER, name)
    /** @type {number} */
    let descriptor
    try {
      descriptor = await asMailError(() => openTemporary(spoolFolder, path))
    } catch (error) {
      sealer.destroy()
      throw error
    }
    return new SpoolWriter({
      spoolFolder,
      name,
      descriptor,
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
   * @param {number} parts.descriptor - of the file in tmp/
   * @param {Sealer} parts.sealer
   * @param {SpoolPlaintextWriter} parts.plaintext
   * @param {Buffer[]} parts.pending
   * @param {number} parts.arrivalSeconds - for the file's mtime
   */
  constructor({ spoolFolder, name, descriptor, sealer, plaintext, pending, arrivalSeconds }) {
    this.#spoolFolder = spoolFolder
    this.#name = name
    this.#descriptor = descriptor
    this.#sealer = sealer
    this.#plaintext = plaintext
    this.#pending = pending
    this.#arrivalSeconds = arrivalSeconds
  }

  /**
   * @param {Buffer} bytes - the next bytes of the message
   * @returns {Promise<void>} when the disk's cache has taken what is ready; to be awaited before the next `write`
   * @throws {MailError} DISK_FULL or NOT_DURABLE; `abort` is then due
   */
  async write(bytes) {
    for (const piece of this.#plaintext.block(bytes)) this.#seal(piece)
    // The header alone is worth no system call: with it, a short message goes out in one.
    if (this.#pending.length > 1) await this.#flush()
  }

  /**
   * Ends the file and makes it durable.
   *
   * @returns {Promise<{ name: string, bytes: number }>} its name in the spool folder, and its size on disk
   * @throws {MailError} DISK_FULL or NOT_DURABLE; the file may then be in the spool or not, and `abort` removes it
   */
  async finish() {
    for (const piece of this.#plaintext.end()) {
      this.#seal(piece)
      if (this.#pending.length > 1) await this.#flush()
    }
    this.#pending.push(...this.#sealer.end())
    await this.#flush()
    await asMailError(async () => {
      await setTimes(this.#opened, this.#arrivalSeconds, this.#arrivalSeconds)
      await syncFile(this.#opened)
      this.#close()
      await renameFile(this.#temporaryPath, join(this.#spoolFolder, this.#name))
      await syncFolder(this.#spoolFolder)
    })
    return { name: this.#name, bytes: this.#bytes }
  }

  /** Removes what was written. Harmless at any time before `finish` has resolved. */
  async abort() {
    this.#sealer.destroy()
    this.#pending = []
    await asMailError(async () => {
      this.#close()
      await removeIfThere(this.#temporaryPath)
      await removeIfThere(join(this.#spoolFolder, this.#name))
    })
  }

  /** @returns {number} */
  get #opened() {
    if (this.#descriptor === null) throw new MailError('NOT_DURABLE', { detail: 'spool: closed' })
    return this.#descriptor
  }

  #close() {
    if (this.#descriptor === null) return
    const descriptor = this.#descriptor
    this.#descriptor = null
    closeSync(descriptor)
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
    this.#bytes += await asMailError(() => writeAll(this.#opened, pieces))
  }
}

/**
 * @param {string} spoolFolder
 * @param {string} path - in its tmp/
 */
async function openTemporary(spoolFolder, path) {
  try {
    return await openFile(path, 'wx', 0o600)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  // The spool folder alone is made again where it is missing; the account's folder is not: an account that was deleted
  // a moment ago must not come back as a folder.
  await makeFolder(spoolFolder)
  await makeFolder(dirname(path))
  return openFile(path, 'wx', 0o600)
}

/**
 * @param {number} descriptor
 * @param {Buffer[]} pieces
 * @returns {Promise<number>} bytes
 */
async function writeAll(descriptor, pieces) {
  let written = 0
  let rest = pieces
  while (rest.length > 0) {
    let { bytesWritten } = await writePieces(descriptor, rest)
    written += bytesWritten
    // A disk that is nearly full takes a part of the bytes; the next call then fails and says why.
    while (rest[0] !== undefined && bytesWritten >= rest[0].length) {
      bytesWritten -= rest[0].length
      rest = rest.slice(1)
    }
    if (rest[0] !== undefined) rest = [rest[0].subarray(bytesWritten), ...rest.slice(1)]
  }
  return written
}
