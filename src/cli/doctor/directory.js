/**
 * Whether the directory is whole, and what is on record of damaged mailboxes.
 */
import { bad, good } from './finding.js'
import { counted } from '../../support/format.js'

/** @import { Finding } from './finding.js' */

const NAME = 'directory'

/**
 * @param {string} problem - the first of them
 * @returns {Finding}
 */
export const directoryDamaged = (problem) =>
  bad(
    NAME,
    `The directory is damaged: ${problem}`,
    'Put a sound one in its place (docs/backup.md, “The directory alone”), and look at the disk'
  )

/**
 * @param {object} input
 * @param {Pick<import('../../accounts/services.js').AccountServices, 'directory'>} input.services
 * @returns {Promise<{ findings: Finding[], isReadable: boolean }>} `isReadable`: whether more can be asked of it
 */
export async function checkDirectory({ services: { directory } }) {
  const { problems, misfits, keyless } = await directory.quickCheck()
  const [problem] = problems
  if (problem !== undefined) return { findings: [directoryDamaged(problem)], isReadable: false }
  const nameOf = async (/** @type {string} */ accountId) =>
    (await directory.findAccount(accountId))?.address ?? accountId
  const findings = []
  const [misfit] = misfits
  if (misfit !== undefined) {
    findings.push(
      bad(
        NAME,
        `${counted(misfits.length, 'account has', 'accounts have')} keys that contradict each other, first ${await nameOf(misfit)}: no mail is taken for it`,
        'docs/operations.md, “Keys that contradict each other”'
      )
    )
  }
  const [closed] = keyless
  if (closed !== undefined) {
    findings.push(
      bad(
        NAME,
        `${counted(keyless.length, 'account has', 'accounts have')} no credential, first ${await nameOf(closed)}: nobody can log in`,
        'Put the directory of a backup in its place that has them (docs/backup.md, “The directory alone”)'
      )
    )
  }
  const { damaged, damagedIds } = await directory.listDamaged(1)
  const [first] = damagedIds
  if (first !== undefined) {
    findings.push(
      bad(
        'mailboxes',
        `${counted(damaged, 'mailbox was', 'mailboxes were')} found damaged, first ${await nameOf(first)}`,
        'docs/operations.md, “A mailbox is damaged”'
      )
    )
  }
  if (misfit === undefined && closed === undefined)
    findings.unshift(good(NAME, 'SQLite finds nothing wrong with it'))
  return { findings, isReadable: true }
}
