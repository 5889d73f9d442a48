/**
 * What becomes of a failure that nobody waits for. Node ends the process for it, and with the process everybody's sessions. A
 * foreseen failure (a full disk, a mailbox that has gone) concerns one user: it is only logged for the operator, as a mistake
 * of ours all the same. Any other still ends the process.
 */
import { MailError } from '../errors.js'

/**
 * @param {Pick<import('./logger.js').Logger, 'error'>} logger
 * @returns {() => void} takes the handler away
 */
export function outliveUnawaited(logger) {
  const onRejection = (/** @type {unknown} */ err) => {
    if (!(err instanceof MailError)) throw err
    logger.error({ err }, 'a failure that nobody waited for')
  }
  process.on('unhandledRejection', onRejection)
  return () => process.off('unhandledRejection', onRejection)
}
