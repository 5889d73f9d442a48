/**
 * Maildir folders as synchronising programs keep them: one file a message, flags in its name.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Header fields that the programs add to what they upload. */
const OWN_FIELDS = /^(x-tuid|x-offlineimap):/i

/** @type {Readonly<Record<string, string>>} */
const LETTERS = {
  '\\Answered': 'R',
  '\\Deleted': 'T',
  '\\Draft': 'D',
  '\\Flagged': 'F',
  '\\Seen': 'S'
}

/**
 * @param {Buffer} bytes - of a message, with either line end
 * @returns {string} the same for the same message, whichever program has copied it
 */
export function digestOf(bytes) {
  const [head = '', ...body] = bytes.toString('latin1').replaceAll('\r', '').split('\n\n')
  const fields = head.split('\n').filter((line) => !OWN_FIELDS.test(line))
  const text = [fields.join('\n'), ...body].join('\n\n').replace(/\n+$/, '')
  return createHash('sha256').update(text, 'latin1').digest('hex')
}

/**
 * @param {readonly string[]} flags - of IMAP
 * @returns {string} Maildir's letters, sorted
 */
export function lettersOf(flags) {
  return flags
    .flatMap((flag) => LETTERS[flag] ?? [])
    .sort()
    .join('')
}

/**
 * @typedef {object} MaildirMessage
 * @property {string} path
 * @property {string} letters
 * @property {string} digest
 */

/**
 * @param {string} folder
 * @returns {MaildirMessage[]} sorted by digest
 */
export function readMaildir(folder) {
  return ['cur', 'new']
    .flatMap((part) => readdirSync(join(folder, part)).map((name) => join(folder, part, name)))
    .map((path) => ({ path, letters: lettersInName(path), digest: digestOf(readFileSync(path)) }))
    .sort((one, other) => (one.digest < other.digest ? -1 : 1))
}

/** @param {string} path */
const lettersInName = (path) => [...(/:2,([A-Z]*)[a-z]*$/.exec(path)?.[1] ?? '')].sort().join('')

/**
 * @param {string} folder
 * @param {readonly { bytes: Buffer, letters?: string }[]} messages - line ends become LF, as they are in a Maildir
 * @param {string} label - makes the names unique
 */
export function fillMaildir(folder, messages, label) {
  for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(folder, part), { recursive: true })
  for (const [index, { bytes, letters = '' }] of messages.entries()) {
    const text = bytes.toString('latin1').replaceAll('\r', '')
    const name = `1700000000.${label}${index}.host:2,${letters}`
    writeFileSync(join(folder, 'cur', name), text, 'latin1')
  }
}

/**
 * @param {MaildirMessage} message
 * @param {string} letters - all of them
 */
export function setLetters({ path }, letters) {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/:2,.*$/, '')
  renameSync(path, join(dirname(dirname(path)), 'cur', `${name}:2,${[...letters].sort().join('')}`))
}

/**
 * Moves a message as a mail program does: under a new name that says nothing of the old folder.
 *
 * @param {MaildirMessage} message
 * @param {string} folder
 */
export function moveTo({ path, letters }, folder) {
  for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(folder, part), { recursive: true })
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/(,[A-Z0-9]+=[^:]*)*:2,.*$/, '')
  renameSync(path, join(folder, 'cur', `${name}m:2,${letters}`))
}

/**
 * @param {readonly { letters: string, digest: string }[]} messages
 * @returns {string[]} to be compared with another place's; sorted
 */
export function summary(messages) {
  return messages.map(({ letters, digest }) => `${digest} ${letters}`).sort()
}
