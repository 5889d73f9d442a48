/**
 * The questions that fetch something small of every message differ only in what they fetch.
 */
import { readIntoPageCache } from '../lib/page-cache.js'
import { lister } from './lists.js'
import { imapContenders, openSession, repeat, serverOf } from './session.js'

/**
 * @param {string} id
 * @param {import('./lists.js').List} list
 * @returns {import('../lib/question.js').Question}
 */
export function listQuestion(id, list) {
  const { title, command, hasSubject } = list
  return {
    id,
    title,
    notes: `\`${command}\`. Checked: one answer for each message${hasSubject ? ', as many planted subjects as there are' : ''}, and fifty answers at random against what was put in.`,
    warmUp:
      '"first" is the first ever since the mailbox was filled (of these fields: other questions may have gone before); the others follow. The server’s files are read once before, so that neither disk is measured',
    lines: [
      { id: 'first', label: 'first ever', unit: 'ms', better: 'lower' },
      { id: 'warm', label: 'again', unit: 'ms', better: 'lower' }
    ],
    contenders: imapContenders,
    async measure(run) {
      const fetchAll = lister(run.options, run.round)
      readIntoPageCache(serverOf(run).folder)
      const client = await openSession(run)
      const first = await fetchAll(client, list)
      const warm = await repeat(run.options.isQuick ? 2 : 5, () => fetchAll(client, list))
      client.close()
      return { samples: run.round === 0 ? { first: [first], warm } : { warm: [first, ...warm] } }
    }
  }
}
