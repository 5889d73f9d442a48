/**
 * Joins this worker to the others of its cluster, and connects its parts with theirs.
 */
import { ClusterWorker } from '../cluster/cluster-worker.js'

/** @import { OpenAccounts } from '../accounts/open-accounts.js' */
/** @import { AccountServices } from '../accounts/services.js' */
/** @import { ThrottleState } from '../accounts/throttle.js' */
/** @import { ImapServer } from '../imap/session/listener.js' */
/** @import { Logger } from '../telemetry/logger.js' */

/**
 * @param {object} options
 * @param {number} options.slot - this worker's place
 * @param {string} options.runFolder - `<data>/run`
 * @param {AccountServices} options.services
 * @param {OpenAccounts} options.openAccounts
 * @param {ImapServer} options.imap
 * @param {() => boolean} options.admits - whether the process can bear one more session
 * @param {Record<string, (argument: any) => unknown>} options.answers - of admin interface and user page, by kind
 * @param {Logger} options.logger
 * @returns {Promise<ClusterWorker>} once each of the others knows this one; it may be given sessions at once
 * @throws {import('../errors.js').MailError} CONFIG_INVALID where the path is too long for a socket
 */
export function joinCluster({
  slot,
  runFolder,
  services,
  openAccounts,
  imap,
  admits,
  answers,
  logger
}) {
  const { config, directory, throttle, unlocker } = services
  return ClusterWorker.join({
    runFolder,
    slot,
    lingerMs: config.accounts.lingerMs,
    port: {
      admits,
      findAccount: (accountId) => directory.findAccount(accountId),
      hasRoomFor: (accountId) => imap.hasRoomFor(accountId),
      acquire: (unlocked) => openAccounts.acquire(unlocked),
      adopt: (session) => imap.adopt(session)
    },
    ring: (accountId) => openAccounts.ring(accountId),
    endSession: (sessionId, text) => imap.endSession(sessionId, text),
    forget: (accountId) => {
      if (!openAccounts.isOpen(accountId)) unlocker.forget(accountId)
    },
    answers: { ...answers, throttle: () => throttle.state },
    notices: { throttle: (change) => throttle.note(change) },
    logger
  })
}

/**
 * Shares the throttle: whoever guesses passwords at one worker is slowed down at all.
 *
 * @param {ClusterWorker} cluster
 * @param {AccountServices['throttle']} throttle - this worker's, which learns what the others know
 */
export async function shareThrottle(cluster, throttle) {
  throttle.onChange = (change) => cluster.tellOthers('throttle', change)
  const [, ...others] = await cluster.askAllWorkers('throttle')
  for (const state of others) throttle.adopt(/** @type {ThrottleState} */ (state))
}
