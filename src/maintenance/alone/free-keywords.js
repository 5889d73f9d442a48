/**
 * Takes back the numbers of keywords that no message has any more. An account has 59 numbers, and each mail program that tries
 * a few keywords, or each import, takes some; when all are taken, no new keyword is kept.
 */
import { runFileJob } from '../../store/file-work.js'
import { DAY_MS } from '../job.js'

/** Fewer keywords are left alone: names that nobody uses right now cost nothing, and mail programs offer them. */
const CROWDED = 40

/** @type {import('../alone.js').AloneJob} */
export const freeKeywords = {
  name: 'keywords',
  intervalMs: () => DAY_MS,
  wants({ keywords }) {
    const { length } = keywords.names
    return length >= CROWDED ? `${length} keywords` : null
  },
  async run({ services, account, key, signal }) {
    const { folder } = account
    // Asked anew: another job may just have given the mailbox another cipher.
    const { cipher } = (await services.directory.findAccount(account.id)) ?? account
    const value = await runFileJob(
      { kind: 'keywords', folder, cipher, timeoutMs: 0 },
      { key, signal }
    )
    const { before, after } = /** @type {import('../../store/free-keywords.js').FreedKeywords} */ (
      value
    )
    return {
      result: after < before ? 'done' : 'idle',
      before: { keywords: before },
      after: { keywords: after }
    }
  }
}
