/**
 * The spool of one account: sealed mail that waits for its owner.
 *
 *     spool/tmp/<name>.sealed     being written; left behind by a crash, removed an hour later
 *     spool/<name>.sealed         arrived; durable before anybody is told
 *     spool/aside/<name>.sealed   does not open; kept for the operator
 *
 * `<name>` is random: outside of a file stand only the account's folder, the name and the padded size.
 * Order: write, fsync the file, rename it into spool/, fsync spool/ (spool-writer.js). Nothing is ever written in the clear.
 */

import { closeSync, open, read } from 'node:fs'
import { rename, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { sortInSlices } from '../store/sort/sliced-sort.js'
import { Slicer } from '../support/slicer.js'
import { syncFolder } from '../support/write-file.js'
import {
  TEMPORARY_FOLDER,
  asMailError,
  asReadError,
  codeOf,
  makeFolder,
  openFolderIfThere,
  readFolder,
  removeIfThere,
  statIfThere
} from './spool-files.js'

const openFile = promisify(open)
const readInto = promisify(read)

const ASIDE_FOLDER = 'aside'
const NAME = /^[0-9a-f]{32}\.sealed$/
/** The sizes of so many files are asked for at a time: enough to keep the thread pool busy. */
const STATS_AT_ONCE = 16
/** So many names are read at a time: this takes less than a millisecond. */
const ENTRIES_AT_ONCE = 1024
/** So many bytes of a file are read at a time: about one sealed chunk. */
const READ_BYTES = 64 * 1024

/**
 * After so many ms without a change, a file in tmp/ belongs to nobody: every write of a delivery changes its file's mtime,
 * and no delivery may be silent for so long.
 */
const LEFTOVER_AGE_MS = 60 * 60 * 1000

/**
 * @typedef {object} SpoolFile
 * @property {string} name - within the spool folder
 * @property {number} bytes - on disk
 * @property {number} changedAtMs - mtime, which orders arrivals
 */

/**
 * @param {string} spoolFolder
 * @returns {Promise<SpoolFile[]>} what has arrived, the oldest first; empty where there is no spool yet
 * @throws {MailError} NOT_DURABLE where the folder cannot be read
 */
export function listSpool(spoolFolder) {
  return listFolder(spoolFolder)
}

/**
 * @param {string} spoolFolder
 * @returns {Promise<boolean>} whether anything has arrived
 * @throws {MailError} NOT_DURABLE where the folder cannot be read
 */
export async function hasMail(spoolFolder) {
  const names = await asMailError(() => readFolder(spoolFolder))
  return names.some((name) => NAME.test(name))
}

/**
 * @param {string} spoolFolder
 * @returns {Promise<{ bytes: number, messages: number }>} what has arrived, on disk
 * @throws {MailError} NOT_DURABLE where the folder cannot be read
 */
export async function measureSpool(spoolFolder) {
  const usage = { bytes: 0, messages: 0 }
  await visitFolder(spoolFolder, (file) => {
    usage.bytes += file.bytes
    usage.messages++
  })
  return usage
}

/**
 * @param {string} spoolFolder
 * @returns {Promise<SpoolFile[]>} what was set aside, the oldest first
 * @throws {MailError} NOT_DURABLE where the folder cannot be read
 */
export function listAsideFiles(spoolFolder) {
  return listFolder(join(spoolFolder, ASIDE_FOLDER))
}

/**
 * @param {string} spoolFolder
 * @returns {Promise<SpoolFile[]>}
 */
async function listFolder(spoolFolder) {
  /** @type {SpoolFile[]} */
  const files = []
  await visitFolder(spoolFolder, (file) => files.push(file))
  return await sortInSlices(files, compareArrivals, new Slicer())
}

/**
 * @param {SpoolFile} left
 * @param {SpoolFile} right
 * @returns {number} negative where the left one came first
 */
const compareArrivals = (left, right) =>
  left.changedAtMs - right.changedAtMs || (left.name < right.name ? -1 : 1)

/**
 * Reads the folder piece by piece, because it may have hundreds of thousands of files: a year's mail that nobody has fetched.
 *
 * @param {string} folder
 * @param {(file: SpoolFile) => void} visit - called for each file that is there, in no order
 */
async function visitFolder(folder, visit) {
  await asMailError(async () => {
    const entries = await openFolderIfThere(folder, ENTRIES_AT_ONCE)
    if (entries === null) return
    /** @type {string[]} */
    let names = []
    const visitAll = () => Promise.all(names.map((name) => visitIfThere(folder, name, visit)))
    for await (const { name } of entries) {
      if (!NAME.test(name)) continue
      names.push(name)
      if (names.length < STATS_AT_ONCE) continue
      await visitAll()
      names = []
    }
    await visitAll()
  })
}

/**
 * @param {string} spoolFolder
 * @param {Pick<SpoolFile, 'name' | 'bytes'>} file
 * @yields {Buffer} its sealed bytes, 64 KiB at a time, each in a buffer of its own
 * @throws {MailError} UNSEAL_FAILED where the disk does not give the file back, BUSY where this process
 *   lacks the means for now
 */
export async function* readSpoolFile(spoolFolder, { name, bytes }) {
  const descriptor = await asReadError(() => openFile(join(spoolFolder, name), 'r'))
  try {
    let rest = bytes
    for (;;) {
      // One byte more than there should be: where it stays unfilled, no second call has to ask whether this was the end.
      const wanted = rest > 0 ? Math.min(READ_BYTES, rest + 1) : READ_BYTES
      const buffer = Buffer.allocUnsafeSlow(wanted)
      const { bytesRead } = await asReadError(() => readInto(descriptor, buffer, 0, wanted, null))
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
      rest -= bytesRead
      if (bytesRead < wanted && rest <= 0) return
    }
  } finally {
    closeSync(descriptor)
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
 * Puts a file that was set aside back among those that wait. A message that is in INBOX already is not delivered again.
 *
 * @param {string} spoolFolder
 * @param {string} name
 * @param {number} nowMs - the file's new mtime, from which it waits: mail that waits for long in an open mailbox is an alarm
 * @returns {Promise<void>} when the file is back in the spool, durably
 */
export async function retryAsideFile(spoolFolder, name, nowMs) {
  const asideFolder = join(spoolFolder, ASIDE_FOLDER)
  await asMailError(async () => {
    const now = new Date(nowMs)
    await utimes(join(asideFolder, name), now, now)
    await rename(join(asideFolder, name), join(spoolFolder, name))
    await syncFolder(spoolFolder)
    await syncFolder(asideFolder)
  })
}

/**
 * @param {string} spoolFolder
 * @param {readonly string[]} names
 * @returns {Promise<void>} when none of the files can come back after a power cut
 */
export async function removeSpoolFiles(spoolFolder, names) {
  if (names.length === 0) return
  await asMailError(async () => {
    await Promise.all(names.map((name) => removeIfThere(join(spoolFolder, name))))
    await syncFolder(spoolFolder).catch((error) => {
      // An account that was restored under another name knows the old one's files, and has no spool before its first mail.
      if (codeOf(error) !== 'ENOENT') throw error
      return syncFolder(dirname(spoolFolder))
    })
  })
}

/**
 * Removes the files that killed deliveries left in tmp/.
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
    if (status === null || clock.nowMs() - status.mtimeMs < LEFTOVER_AGE_MS) continue
    await removeIfThere(join(folder, name))
    removed += 1
  }
  return removed
}

/**
 * @param {string} spoolFolder
 * @param {string} name
 * @param {(file: SpoolFile) => void} visit
 */
async function visitIfThere(spoolFolder, name, visit) {
  const status = await statIfThere(join(spoolFolder, name))
  if (status === null) return
  // A pipe or a socket is no mail, and reading one would wait for a writer.
  if (!status.isFile() && !status.isDirectory()) return
  visit({ name, bytes: status.size, changedAtMs: status.mtimeMs })
}
