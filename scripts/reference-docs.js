/**
 * The parts of docs/ that are made from tables of the code: `npm run docs` writes them, a test compares them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { SETTINGS } from '../config/default.js'
import { environmentName } from '../config/load.js'
import { ERROR_TABLE } from '../src/errors.js'

/** @typedef {import('../config/default.js').Setting} Setting */

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|')

/** @param {Setting} setting */
function rangeOf({ minimum, maximum, choices, format }) {
  if (choices) return choices.join(', ')
  if (format === 'address') return 'HOST:PORT or off'
  if (minimum !== undefined) return `${minimum} to ${maximum}`
  return ''
}

/** @returns {string} a Markdown table of every setting */
function settingsTable() {
  const rows = Object.entries(/** @type {Record<string, Setting>} */ (SETTINGS)).map(
    ([name, setting]) =>
      `| \`${name}\` | \`${environmentName(name)}\` | \`${JSON.stringify(setting.value)}\` | ${cell(setting.unit)} | ${cell(rangeOf(setting))} | ${cell(setting.reason)} |`
  )
  return [
    '| setting | environment | default | unit | range | what and why |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows
  ].join('\n')
}

/** @returns {string} a Markdown table of every error code */
function errorsTable() {
  const rows = Object.entries(ERROR_TABLE).map(
    ([code, { temporary, text }]) => `| \`${code}\` | ${temporary ? 'yes' : 'no'} | ${cell(text)} |`
  )
  return ['| code | temporary | text |', '| --- | --- | --- |', ...rows].join('\n')
}

/** Which file has which table, between its two marks. */
export const TABLES = [
  { file: new URL('../docs/configuration.md', import.meta.url), table: settingsTable },
  { file: new URL('../docs/errors.md', import.meta.url), table: errorsTable }
]

const START = '<!-- table: npm run docs -->'
const END = '<!-- end of table -->'

/**
 * @param {string} text - a document with the two marks
 * @param {string} table
 * @returns {string}
 */
export function withTable(text, table) {
  const start = text.indexOf(START)
  const end = text.indexOf(END)
  if (start < 0 || end < start) throw new Error('the document has no place for its table')
  return `${text.slice(0, start + START.length)}\n${table}\n${text.slice(end)}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const { file, table } of TABLES) {
    writeFileSync(file, withTable(readFileSync(file, 'utf8'), table()))
  }
}
