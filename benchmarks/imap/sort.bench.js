/**
 * How long does it take to have a large mailbox in order, as webmail asks for it whenever a folder is opened?
 */
import { ORDERS, sorter } from './orders.js'
import { imapContenders, timeQueries } from './session.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'sort',
  title: 'SORT and THREAD',
  notes:
    '`UID SORT` and `UID THREAD` of the whole large mailbox. Checked: each message is there once; the order by DATE and ARRIVAL, that of fifty at random by the others, and that fifty at random are in the thread of what they answer. Dovecot keeps what it sorted by in its cache.',
  warmUp: 'each once in each round before it is timed',
  lines: ORDERS.map(({ id, command }) => ({ id, label: command, unit: 'ms', better: 'lower' })),
  contenders: imapContenders,
  rounds: ({ rounds, isQuick }) => (isQuick ? 1 : Math.min(rounds, 3)),
  measure: (run) => timeQueries(run, ORDERS, sorter(run.options, run.round))
}
