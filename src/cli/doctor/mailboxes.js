/**
 * Whether the directory and the mailboxes in `mail/` belong together: an old directory lacks newer mailboxes.
 */
import { findStranded } from '../../accounts/stranded-mailboxes.js'
import { explainRefusedFile } from '../file-refused.js'
import { bad, good } from './finding.js'
import { counted } from '../../support/format.js'

/** @import { Finding } from './finding.js' */

const NAME = 'mailboxes'

/** At most so many unknown ones are told, which show what is wrong: a disk that fails would fill the screen. */
const MAX_UNKNOWN = 10

/**
 * @param {object} input
 * @param {import('../../accounts/services.js').AccountServices} input.services
 * @returns {Promise<Finding[]>}
 */
export async function checkMailboxes({ services }) {
  const { config, directory } = services
  const { stranded, missing, unknown } = await findStranded({ data: config.data, directory })
  const findings = []
  const [first] = stranded
  if (first !== undefined) {
    findings.push(
      bad(
        NAME,
        `${counted(stranded.length, 'mailbox in mail/ is', 'mailboxes in mail/ are')} no account’s: ${first}`,
        'directory.db may be older than they are, and mail for them is refused: put the newest one back (docs/backup.md, “The directory alone”)'
      )
    )
  }
  const [lost] = missing
  if (lost !== undefined) {
    findings.push(
      bad(
        NAME,
        `${counted(missing.length, 'account has', 'accounts have')} no mailbox: ${lost} has no mail.db`,
        'Put the folder back, or letterlock backup restore <address>'
      )
    )
  }
  for (const error of unknown.slice(0, MAX_UNKNOWN)) {
    findings.push(
      bad(
        NAME,
        explainRefusedFile(error) ?? /** @type {Error} */ (error).message,
        'Whether a mailbox is there cannot be told: put back what belongs there, or remove it'
      )
    )
  }
  return findings.length > 0
    ? findings
    : [good(NAME, 'Each is an account’s, and each account has one')]
}
