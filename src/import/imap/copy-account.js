/**
 * Copies a whole account from another IMAP server: some folders at once over a few connections. A folder that fails is
 * reported and the others go on; trouble with the account (full, damaged, the source out of reach) ends the run.
 */
import PQueue from 'p-queue'
import { MailError } from '../../errors.js'
import { copyFolder, emptyFolderReport } from './copy-folder.js'
import { emptyExcludes, planFolders } from './plan-folders.js'
import { isConnectionTrouble } from './source-pool.js'

/**
 * @typedef {import('./copy-folder.js').ExpungeRule} ExpungeRule
 * @typedef {import('./copy-folder.js').FolderReport} FolderReport
 * @typedef {import('./plan-folders.js').PlannedFolder} PlannedFolder
 *
 * @typedef {object} CopyObserver - each function may be left out
 * @property {(plan: readonly PlannedFolder[]) => void} [onPlan]
 * @property {(folder: string) => void} [onEmptyExclude] - `folder`: to be left out, but not at the source
 * @property {(mailbox: string, progress: { done: number, total: number }) => void} [onProgress] - of one folder
 * @property {(mailbox: string, report: FolderReport) => void} [onFolder] - the folder is done
 * @property {(failure: { mailbox: string, uid: number | null, error: unknown }) => void} [onFailure] - of a message, or of
 *   a folder
 *
 * @typedef {object} AccountReport
 * @property {number} folders
 * @property {number} foldersWithUids - mailboxes that have the source's UIDs and UIDVALIDITY
 * @property {number} copied
 * @property {number} skipped
 * @property {number} flagged
 * @property {number} expunged
 * @property {number} kept
 * @property {number} failed - messages, and folders as a whole
 */

/** @returns {AccountReport} of a run that has not begun */
export const emptyReport = () => ({
  folders: 0,
  foldersWithUids: 0,
  copied: 0,
  skipped: 0,
  flagged: 0,
  expunged: 0,
  kept: 0,
  failed: 0
})

/**
 * @param {object} request
 * @param {import('../../store/account-store.js').AccountStore} request.store
 * @param {import('./source-pool.js').SourcePool} request.pool
 * @param {string} request.source - `user@host`
 * @param {readonly string[]} [request.exclude] - folders that are left out
 * @param {ExpungeRule} [request.expunge]
 * @param {AbortSignal} [request.signal] - ends the run after the messages in hand
 * @param {CopyObserver} [request.observer]
 * @param {AccountReport} [request.report] - grows, so it tells what was done even where the run ends early
 * @returns {Promise<AccountReport>} that report
 * @throws what ends the run
 */
export async function copyAccount({
  store,
  pool,
  source,
  exclude = [],
  expunge = 'safe',
  signal,
  observer = {},
  report = emptyReport()
}) {
  const listed = await pool.run(null, (connection) => connection.list())
  const plan = planFolders(listed, { exclude })
  for (const folder of emptyExcludes(listed, exclude)) observer.onEmptyExclude?.(folder)
  observer.onPlan?.(plan)
  report.folders = plan.length
  /** @type {{ error: unknown } | null} */
  let fault = null
  const copyOne = async (/** @type {PlannedFolder} */ planned) => {
    if (fault || signal?.aborted) return
    const { mailbox } = planned
    const ofFolder = emptyFolderReport()
    try {
      await copyFolder({
        store,
        pool,
        source,
        plan,
        planned,
        expunge,
        signal,
        report: ofFolder,
        onProgress: (progress) => observer.onProgress?.(mailbox, progress),
        onFailure: (failure) => observer.onFailure?.({ mailbox, ...failure })
      })
      observer.onFolder?.(mailbox, ofFolder)
    } catch (error) {
      if (isAboutAccount(error)) fault ??= { error }
      else {
        report.failed++
        observer.onFailure?.({ mailbox, uid: null, error })
      }
    } finally {
      add(report, ofFolder)
    }
  }
  // Two folders at once: while one waits for its list, the connections are busy with the other.
  const queue = new PQueue({ concurrency: Math.max(1, Math.min(2, pool.size)) })
  await Promise.all(plan.map((planned) => queue.add(() => copyOne(planned))))
  const ended = /** @type {{ error: unknown } | null} */ (fault)
  if (ended) throw ended.error
  return report
}

/**
 * @param {AccountReport} report - grows
 * @param {FolderReport} folder
 */
function add(report, { keepsUids, ...counts }) {
  for (const [key, count] of Object.entries(counts)) {
    report[/** @type {keyof typeof counts} */ (key)] += count
  }
  if (keepsUids) report.foldersWithUids++
}

/**
 * @param {unknown} error
 * @returns {boolean} whether no other folder would fare better
 */
function isAboutAccount(error) {
  if (!(error instanceof MailError)) return isConnectionTrouble(error)
  return !['CANNOT', 'LIMIT', 'BUSY', 'MAILBOX_NOT_FOUND', 'MAILBOX_EXISTS'].includes(error.code)
}
