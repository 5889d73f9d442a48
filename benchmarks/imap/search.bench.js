/**
 * How long does a search of a large mailbox take?
 */
import { SEARCHES, searcher } from './searches.js'
import { imapContenders, timeQueries } from './session.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'search',
  title: 'SEARCH',
  notes:
    '`UID SEARCH` of the large mailbox; words were planted, so the right hits are known, and the UIDs are checked. Dovecot has no full-text index here, as Debian ships it.',
  warmUp:
    'each query once in each round before it is timed; a query that takes seconds is timed once',
  lines: SEARCHES.map(({ id, label }) => ({
    id,
    label,
    unit: /** @type {const} */ ('ms'),
    better: /** @type {const} */ ('lower')
  })),
  contenders: imapContenders,
  rounds: ({ rounds, isQuick }) => (isQuick ? 1 : Math.min(rounds, 3)),
  measure: (run) => timeQueries(run, SEARCHES, searcher(run.options))
}
