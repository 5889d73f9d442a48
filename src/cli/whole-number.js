/**
 * Numbers on the command line: digits alone. `Number` reads an empty text as 0, and takes 0x10, 1e3 and white space.
 */
import { CliError } from './cli-error.js'

/** The largest number of 15 digits: a double holds all up to it exactly. */
const MOST = 999_999_999_999_999

/**
 * @param {string} text
 * @param {string} what - it should be: `port`
 * @param {{ least?: number, most?: number }} [range]
 * @returns {number}
 * @throws {CliError} exit code 2
 */
export function wholeNumber(text, what, { least = 0, most = MOST } = {}) {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (number >= least && number <= most) return number
  throw new CliError(`“${text}” is no ${what}`, { exitCode: 2 })
}
