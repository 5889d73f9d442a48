/**
 * better-sqlite3, with one thing changed: all other modules import it from here.
 *
 * The library writes a function for each statement that makes its rows (`(v0,v1) => ({"uid":v0,"flags":v1})`). Each mailbox
 * that is open has its own statements, so a server with two hundred had thousands of such functions, which V8 parses,
 * interprets and compiles one by one, for minutes, and the processor finds none of them in its cache. They differ in
 * nothing but the names of the columns; here statements with the same names share one.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import Database from 'better-sqlite3-multiple-ciphers'
import { runUnended } from './endable-thread.js'

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

/** Relies on the library's internals: a version that loads its addon in another way is used unchanged. */
function shareRowMakers() {
  const require = createRequire(import.meta.url)
  const folder = dirname(require.resolve('better-sqlite3-multiple-ciphers'))
  /** @type {{ getBinding?: () => Addon }} */
  let binding
  try {
    binding = require(join(folder, 'binding.js'))
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'MODULE_NOT_FOUND') return
    throw error
  }
  const addon = binding.getBinding?.()
  if (typeof addon?.initialize !== 'function') return
  const { initialize } = addon
  addon.initialize = (error, array, appender, rows, record) =>
    initialize.call(addon, error, array, appender, once(rows), record)
}

// A thread loads the addon when it loads this module, inside `runUnended` (endable-thread.js).
if (isMainThread) shareRowMakers()
else {
  runUnended(() => {
    shareRowMakers()
    new Database(':memory:').close()
  })
}

export default Database
