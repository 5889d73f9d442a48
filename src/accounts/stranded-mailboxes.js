/**
 * Mailboxes whose directory is gone: a data folder that looks new to a server, and is not. One that began there anew would
 * refuse all mail for the accounts of before.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { isThereSync } from '../support/is-there.js'

/**
 * @param {string} folder
 * @returns {string[]} absolute
 */
function within(folder) {
  if (!isThereSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
}

/**
 * @param {string} data - absolute; has no directory.db, or an empty one
 * @throws {MailError} DIRECTORY_MISSING where there are mailboxes all the same
 */
export function requireNoMailboxes(data) {
  const hasMailbox = within(join(data, 'mail'))
    .flatMap(within)
    .some((folder) => isThereSync(join(folder, 'mail.db')))
  if (!hasMailbox) return
  throw new MailError('DIRECTORY_MISSING', {
    detail:
      `${data} has mailboxes in mail/, and no directory.db or an empty one. Put that back. Where it is lost, keep mail/, ` +
      'which is newer than any backup: letterlock backup restore --host into another, empty folder, and copy directory.db ' +
      'from there (docs/backup.md, “The directory alone”)'
  })
}
