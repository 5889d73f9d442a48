/**
 * Loaded before a program (`node --import`), so that its clock stands at LETTERLOCK_TEST_NOW_MS until the file that
 * LETTERLOCK_TEST_GO names is there, and runs on from there; so does the clock of whatever it starts.
 */
import { statSync } from 'node:fs'

const now = Date.now
const standsAtMs = Number(process.env['LETTERLOCK_TEST_NOW_MS'])
/** @type {number | undefined} */
let goneMs
Date.now = () => {
  goneMs ??= statSync(String(process.env['LETTERLOCK_TEST_GO']), { throwIfNoEntry: false })?.mtimeMs
  return goneMs === undefined ? standsAtMs : Math.round(standsAtMs + Math.max(0, now() - goneMs))
}
