/**
 * A Maildir++ (cr.yp.to/proto/maildir.html): INBOX is the folder itself, other mailboxes are `.Name.Below` in it. Flags
 * are letters in the file's name, keywords the letters a … z that `dovecot-keywords` names; dates are the file's time.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeUtf7 } from '../imap/protocol/values/modified-utf7.js'
import { FileNames } from './file-names.js'
import { writeMessageFile } from './write-message-file.js'

/** @typedef {import('./export-mailbox.js').ExportedMessage} ExportedMessage */

const LETTERS = new Map([
  ['\\Draft', 'D'],
  ['\\Flagged', 'F'],
  ['$Forwarded', 'P'],
  ['\\Answered', 'R'],
  ['\\Seen', 'S'],
  ['\\Deleted', 'T']
])

/** A Maildir has at most so many keywords: their letters are a … z. */
const MAX_KEYWORDS = 26

/** The name of a subfolder has at most so many bytes: file systems end at 255. */
const MAX_PLACE_BYTES = 240

/**
 * @param {string} folder - there, and empty
 * @returns {import('./export-mailbox.js').ExportTarget}
 */
export function maildirTarget(folder) {
  // Levels are in modified UTF-7 as in IMAP, and '.' divides them.
  const names = new FileNames((level) => encodeUtf7(level.replaceAll('.', '_')))
  /** @type {Set<string>} */
  const taken = new Set()
  const placeOf = (/** @type {string} */ name) => {
    if (name === 'INBOX') return ''
    const whole = `.${names.placeOf(name).join('.')}`
    let place = whole
    for (let number = 1; place.length > MAX_PLACE_BYTES || taken.has(place); number++) {
      place = shortened(whole, number)
    }
    taken.add(place)
    return place
  }
  return {
    async openMailbox(name) {
      const place = placeOf(name)
      const root = join(folder, place)
      // The folder is a Maildir also where INBOX is left out.
      await makeMaildir(folder)
      await makeMaildir(root)
      if (place !== '')
        await writeFile(join(root, 'maildirfolder'), '', { flag: 'wx', mode: 0o600 })
      /** @type {string[]} */
      const keywords = []
      return {
        write: (message) => writeMessage(root, keywords, message),
        close: async () => {
          if (keywords.length === 0) return
          const lines = keywords.map((keyword, index) => `${index} ${keyword}\n`)
          const options = { flag: 'wx', mode: 0o600 }
          await writeFile(join(root, 'dovecot-keywords'), lines.join(''), options)
        }
      }
    }
  }
}

/** @param {string} root */
async function makeMaildir(root) {
  for (const part of ['cur', 'new', 'tmp']) {
    await mkdir(join(root, part), { recursive: true, mode: 0o700 })
  }
}

/**
 * @param {string} place - in modified UTF-7, so each character is a byte
 * @param {number} number
 * @returns {string} as many of the first levels as there is room for, and the number
 */
function shortened(place, number) {
  const end = ` (${number})`
  const levels = place.split('.')
  while (levels.join('.').length + end.length > MAX_PLACE_BYTES) levels.pop()
  return levels.join('.') + end
}

/**
 * @param {string} root - of the mailbox
 * @param {string[]} keywords - those that have a letter; grows
 * @param {ExportedMessage} message
 */
async function writeMessage(root, keywords, { uid, flags, size, internalDate, read }) {
  const letters = lettersOf(flags, keywords)
  const seconds = Math.max(internalDate.epochSeconds, 0)
  const name = `${seconds}.U${uid}.letterlock,S=${size}:2,${letters}`
  await writeMessageFile(join(root, 'cur', name), { internalDate, read })
}

/**
 * @param {readonly string[]} flags
 * @param {string[]} keywords - those that have a letter; grows
 * @returns {string} the letters, in the order of the alphabet
 */
function lettersOf(flags, keywords) {
  const letters = flags.map((flag) => {
    const letter = LETTERS.get(flag)
    if (letter !== undefined || flag.startsWith('\\')) return letter ?? ''
    if (!keywords.includes(flag) && keywords.length < MAX_KEYWORDS) keywords.push(flag)
    const number = keywords.indexOf(flag)
    return number === -1 ? '' : String.fromCharCode(97 + number)
  })
  return letters.sort().join('')
}
