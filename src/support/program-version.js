/**
 * Which version of this program runs.
 */
import { readFileSync } from 'node:fs'

/** @returns {string} as package.json says */
export function programVersion() {
  const file = new URL('../../package.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).version
}
