/**
 * SQLite's own checks of a file, which know nothing about mail. Synchronous: for a thread.
 */
import { isMailError } from '../errors.js'
import { errorCodeOf, toMailError } from './sqlite-error.js'
import { prepared } from './statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** At most so many problems are listed; a damaged file may have thousands. */
export const MAX_PROBLEMS = 100

/**
 * Runs a check. Damage that stops it is a finding like others, so that the next check is made all the same.
 *
 * @param {string} what - the check
 * @param {() => string[]} check
 * @returns {string[]}
 */
export function findings(what, check) {
  try {
    return check()
  } catch (error) {
    if (!isMailError(toMailError(error), 'ACCOUNT_DAMAGED')) throw error
    return [`${what}: ${errorCodeOf(error)}`]
  }
}

/**
 * @param {Database} db
 * @param {'quick_check' | 'integrity_check'} pragma
 * @returns {string[]}
 */
export function sqliteProblems(db, pragma) {
  const statement = prepared(db, `PRAGMA ${pragma}(${MAX_PROBLEMS})`, 'value')
  return findings(pragma, () =>
    /** @type {string[]} */ (statement.all()).filter((line) => line !== 'ok')
  )
}

/**
 * @param {Database} db
 * @returns {string[]} problems; empty: the structure is sound (indexes and contents are not looked at)
 */
export const quickCheck = (db) => sqliteProblems(db, 'quick_check')
