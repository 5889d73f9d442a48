/**
 * better-sqlite3, loaded in less time and with one thing changed: all other modules import it from here.
 *
 * The library writes a function for each statement that makes its rows (`(v0,v1) => ({"uid":v0,"flags":v1})`). Each mailbox
 * that is open has its own statements, so a server with two hundred had thousands of such functions, which V8 parses,
 * interprets and compiles one by one, for minutes, and the processor finds none of them in its cache. They differ in
 * nothing but the names of the columns; here statements with the same names share one.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { runUnended } from './endable-thread.js'

const require = createRequire(import.meta.url)

const PACKAGE = 'better-sqlite3-multiple-ciphers'
const PLATFORM = `${process.platform}-${process.arch}`
/** Platforms with glibc for which the package has an entry of its own. */
const GLIBC_PLATFORMS = new Set(['linux-x64', 'linux-arm64'])
/** Under this name the main thread tells the others which entry it has loaded. */
const ENTRY_KEY = 'letterlock.sqlite-entry'

/**
 * @typedef {(...values: unknown[]) => object} RowMaker
 * @typedef {(...columns: string[]) => RowMaker} RowFactory
 *
 * @typedef {object} Addon - what the library loads; called once, before its first database is opened
 * @property {(error: Function, array: Function, appender: Function, rows: RowFactory, record: Function) => void} initialize
 */

/**
 * @param {RowFactory} rowFactory
 * @returns {RowFactory} one that makes each function once for each list of columns, and keeps it: SQL is a fixed set of texts
 */
function once(rowFactory) {
  /** @type {Map<string, RowMaker>} */
  const made = new Map()
  return (...columns) => {
    // A NUL separates the names: they are strings of C, and have none.
    const names = columns.join('\0')
    let maker = made.get(names)
    if (maker === undefined) made.set(names, (maker = rowFactory(...columns)))
    return maker
  }
}

/**
 * To find out which addon fits, the library has the whole diagnostic report of the process made, which takes 5 ms of every
 * command and every thread, only to tell one C library from another. Where it is plainly glibc, the package's entry for this
 * platform is loaded instead.
 *
 * @returns {string}
 */
function findEntry() {
  const known = getEnvironmentData(ENTRY_KEY)
  if (typeof known === 'string') return known
  // Not looked at by a thread: a busy server has thousands of pieces of memory that are mapped.
  const isGlibc = isMainThread && GLIBC_PLATFORMS.has(PLATFORM) && isWithGlibc()
  const entry = isGlibc ? `${PACKAGE}/${PLATFORM}` : PACKAGE
  setEnvironmentData(ENTRY_KEY, entry)
  return entry
}

/** @returns {boolean} false also where it cannot be told */
function isWithGlibc() {
  try {
    return /\/libc(\.so\.6|-2\.\d+\.so)$/m.test(readFileSync('/proc/self/maps', 'latin1'))
  } catch {
    return false
  }
}

/**
 * Relies on the library's internals.
 *
 * @param {string} entry
 * @returns {Addon | undefined} undefined for a version that loads its addon in another way
 */
function findAddon(entry) {
  const folder = dirname(require.resolve(entry))
  if (entry !== PACKAGE) {
    const addon = join(folder, '..', 'prebuilds', `${PLATFORM}.node`)
    return existsSync(addon) ? require(addon) : undefined
  }
  const binding = join(folder, 'binding.js')
  return existsSync(binding) ? require(binding).getBinding?.() : undefined
}

/** @param {string} entry */
function shareRowMakers(entry) {
  const addon = findAddon(entry)
  if (typeof addon?.initialize !== 'function') return
  const { initialize } = addon
  addon.initialize = (error, array, appender, rows, record) =>
    initialize.call(addon, error, array, appender, once(rows), record)
}

const entry = findEntry()

/** @type {typeof import('better-sqlite3-multiple-ciphers').default} */
const Database = require(entry)

// A thread loads the addon when it loads this module, inside `runUnended` (endable-thread.js).
if (isMainThread) shareRowMakers(entry)
else {
  runUnended(() => {
    shareRowMakers(entry)
    new Database(':memory:').close()
  })
}

export default Database
