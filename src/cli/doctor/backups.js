/**
 * Backups: whether there are any, and how old the last one is.
 */
import { stat } from 'node:fs/promises'
import { BackupWatch } from '../../admin/backup-watch.js'
import { createBackupList } from '../../backup/backup-list.js'
import { troublesOf } from '../../backup/last-results.js'
import { bad, doubtful, good } from './finding.js'
import { counted } from '../../support/format.js'

/** @import { Finding } from './finding.js' */

const HOUR_MS = 3_600_000

/**
 * The place of the backups may take at most so long, ms: sleeping disks wake up within that time. A share whose server is away
 * never answers, and all findings would wait for it.
 */
const PATIENCE_MS = 20_000

/**
 * @param {object} input
 * @param {import('../../accounts/services.js').AccountServices} input.services
 * @param {number} [input.patienceMs] - how long the place of the backups may take
 * @returns {Promise<Finding>}
 */
export async function checkBackups({ services, patienceMs = PATIENCE_MS }) {
  const name = 'backups'
  const { config, directory, clock } = services
  const backups = createBackupList({ config, directory, clock })
  const watch = new BackupWatch({ backups, clock, patienceMs })
  const { isSetUp, generations, overdueAtMs, problem, isReached, notMade, results } =
    await watch.list(0)
  if (!isSetUp)
    return bad(
      name,
      'None are set up',
      'letterlock backup init, and keep the recovery key elsewhere'
    )
  if (problem !== null) {
    const what = isReached ? 'They are not as they should be' : 'Their place cannot be read'
    return bad(name, `${what}: ${problem}`, 'Look at backup.folder or backup.s3')
  }
  if (notMade !== null)
    return bad(name, `None are made here: ${notMade}`, 'docs/backup.md, “Restoring”')
  const [last] = generations
  if (!last) return doubtful(name, 'None was made yet', 'letterlock backup run')
  const nowMs = clock.nowMs()
  const hours = Math.round((nowMs - last.startedAtMs) / HOUR_MS)
  const text = `The last of ${generations.length} is ${counted(hours, 'hour')} old`
  if (overdueAtMs !== null && nowMs > overdueAtMs)
    return bad(
      name,
      text,
      'See the log for why the nightly job did not end well; letterlock backup run'
    )
  const troubles = troublesOf(results)
  if (troubles.length > 0) {
    const finding = troubles.some(({ isDamage }) => isDamage) ? bad : doubtful
    return finding(
      name,
      [text, ...troubles.map((trouble) => trouble.text)].join('; '),
      'docs/backup.md, “Looking”'
    )
  }
  if (last.failed === null) {
    return doubtful(
      name,
      `${text}; this host has no record of how it went`,
      'See the log of that night; letterlock backup run'
    )
  }
  if (last.failed > 0) {
    return doubtful(
      name,
      `${text}; ${counted(last.failed, 'account is', 'accounts are')} not in it`,
      'See the log for their ids'
    )
  }
  return (await isOnDiskOf(config))
    ? doubtful(
        name,
        `${text}, on the same disk as the mail`,
        'Set backup.folder to another disk, or backup.s3.bucket'
      )
    : good(name, text)
}

/**
 * @param {import('../../../config/load.js').Config} config
 * @returns {Promise<boolean>} whether the backups are on the disk of the mail, and would be lost with it
 */
async function isOnDiskOf({ data, backup }) {
  if (backup.s3.bucket !== '') return false
  const [mail, backups] = await Promise.all([stat(data), stat(backup.folder)])
  return mail.dev === backups.dev
}
