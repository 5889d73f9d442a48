/**
 * A folder of mboxes: one file for each mailbox, and a folder of its name for the mailboxes below it.
 *
 * Flags stand where mail programs look for them, in Status, X-Status and X-Keywords in front of the message. A line before
 * them says how many lines were added, so that `letterlock import` takes them off again and has the message byte for byte.
 */
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { decodeUtf7, encodeUtf7 } from '../imap/protocol/values/modified-utf7.js'
import { addedLines } from '../import/added-lines.js'
import { FileNames } from './file-names.js'
import { quoted } from './mbox-quoting.js'
import { writeAll } from '../support/write-all.js'

/** @typedef {import('./export-mailbox.js').ExportedMessage} ExportedMessage */
/** @typedef {import('./export-mailbox.js').MailboxWriter} MailboxWriter */

const LINE_END = Buffer.from('\n')

/** The first second of the year 0000. */
const FIRST_SECOND = Date.parse('0000-01-01T00:00:00Z') / 1000
/** The last second of the year 9999. */
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000

/**
 * @param {string} folder - there, and empty
 * @returns {import('./export-mailbox.js').ExportTarget}
 */
export function mboxTarget(folder) {
  const names = new FileNames(readBackAsIs)
  return {
    async openMailbox(name) {
      const path = `${join(folder, ...names.placeOf(name))}.mbox`
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      // Opened to append, so that writing goes on at the new end after a message is cut off again, and leaves no hole.
      const file = await open(path, 'ax', 0o600)
      return {
        write: async (message) => {
          const { size } = await file.stat()
          try {
            await writeMessage(file, message)
          } catch (error) {
            await file.truncate(size)
            throw error
          }
        },
        close: () => file.close()
      }
    }
  }
}

/**
 * An import takes a name for modified UTF-7 where it can be one, as Thunderbird keeps names: `R&-D` would be `R&D`.
 *
 * @param {string} level
 * @returns {string}
 */
function readBackAsIs(level) {
  const read = /^[ -~]*$/.test(level) ? decodeUtf7(level) : null
  return read === null || read === level ? level : encodeUtf7(level)
}

/**
 * @param {import('node:fs/promises').FileHandle} file
 * @param {ExportedMessage} message
 */
async function writeMessage(file, message) {
  const { flags, internalDate, endsLine } = message
  await writeAll(file, Buffer.from(`From MAILER-DAEMON ${asctime(internalDate.epochSeconds)}\n`))
  const hasLineEnd = await endsLine()
  await writeAll(file, addedLines({ flags, isUnended: !hasLineEnd }))
  for await (const piece of quoted(message.read())) await writeAll(file, piece)
  if (!hasLineEnd) await writeAll(file, LINE_END)
  await writeAll(file, LINE_END)
}

/**
 * @param {number} epochSeconds
 * @returns {string} as C's asctime, UTC (RFC 4155 §A); the nearest of those with a year of four digits
 */
function asctime(epochSeconds) {
  // In UTC, the first and the last day may be of another year, whose line no reader takes for the beginning of a message.
  const seconds = Math.min(Math.max(epochSeconds, FIRST_SECOND), LAST_SECOND)
  const [, weekday, day, month, year, time] =
    /^(\w{3}), (\d\d) (\w{3}) (\d{4,}) ([\d:]{8})/.exec(new Date(seconds * 1000).toUTCString()) ??
    []
  return `${weekday} ${month} ${Number(day).toString().padStart(2)} ${time} ${year}`
}
