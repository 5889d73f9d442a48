/**
 * A Maildir++ (cr.yp.to/proto/maildir.html): INBOX is the folder itself, other mailboxes are `.Name.Below` in it. Flags
 * are letters in the file's name, keywords the letters a … z that `dovecot-keywords` names; dates are the file's time.
 */
import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeUtf7 } from '../imap/protocol/values/modified-utf7.js'
import { FileNames } from './file-names.js'
import { writeAll } from '../support/write-all.js'

/** @typedef {import('./export-mailbox.js').ExportedMessage} ExportedMessage */

/** @type {Record<string, string>} */
const LETTERS = {
  '\\Draft': 'D',
  '\\Flagged': 'F',
  $Forwarded: 'P',
  '\\Answered': 'R',
  '\\Seen': 'S',
  '\\Deleted': 'T'
}

/** Letters for keywords. */
const MAX_KEYWORDS = 26

/**
 * @param {string} folder - there, and empty
 * @returns {import('./export-mailbox.js').ExportTarget}
 */
export function maildirTarget(folder) {
  // Modified UTF-7 as IMAP has it; '.' divides levels.
  const names = new FileNames((level) => encodeUtf7(level.replaceAll('.', '_')))
  return {
    async openMailbox(name) {
      const place = name === 'INBOX' ? '' : `.${names.placeOf(name).join('.')}`
      const root = join(folder, place)
      for (const part of ['cur', 'new', 'tmp']) {
        await mkdir(join(root, part), { recursive: true, mode: 0o700 })
      }
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

/**
 * @param {string} root - of the mailbox
 * @param {string[]} keywords - those that have a letter; grows
 * @param {ExportedMessage} message
 */
async function writeMessage(root, keywords, { uid, flags, size, internalDate, read }) {
  const letters = lettersOf(flags, keywords)
  const seconds = Math.max(internalDate.epochSeconds, 0)
  const name = `${seconds}.U${uid}.letterlock,S=${size}:2,${letters}`
  const file = await open(join(root, 'cur', name), 'wx', 0o600)
  try {
    for await (const piece of read()) await writeAll(file, piece)
    await file.utimes(seconds, seconds)
  } finally {
    await file.close()
  }
}

/**
 * @param {readonly string[]} flags
 * @param {string[]} keywords - those that have a letter; grows
 * @returns {string} in the order of the alphabet
 */
function lettersOf(flags, keywords) {
  const letters = flags.map((flag) => {
    const letter = LETTERS[flag]
    if (letter !== undefined || flag.startsWith('\\')) return letter ?? ''
    if (!keywords.includes(flag) && keywords.length < MAX_KEYWORDS) keywords.push(flag)
    const number = keywords.indexOf(flag)
    return number === -1 ? '' : String.fromCharCode(97 + number)
  })
  return letters.sort().join('')
}
