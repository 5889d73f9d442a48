/**
 * Fills a store with generated mail.
 */
import { MailGenerator } from '../lib/mail.js'
import { BATCH } from './contenders.js'

/**
 * @param {import('./contenders.js').MailStore} store
 * @param {object} what
 * @param {number} what.seed
 * @param {number} what.first - number of the first message
 * @param {number} what.count
 * @param {(done: number, total: number) => void} progress
 * @returns {Promise<{ rawBytes: number, unseen: number, ms: number }>} `ms`: in the store alone, without making mail
 */
export async function fillStore(store, { seed, first, count }, progress) {
  const generator = new MailGenerator(seed)
  let [rawBytes, unseen, ms] = [0, 0, 0]
  for (let done = 0; done < count; done += BATCH) {
    const mails = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) =>
      generator.mailOf(first + done + index)
    )
    for (const { bytes, flags } of mails) {
      rawBytes += bytes.length
      if (!flags.includes('\\Seen')) unseen += 1
    }
    const start = performance.now()
    await store.add(mails)
    ms += performance.now() - start
    progress(done, count)
  }
  return { rawBytes, unseen, ms }
}
