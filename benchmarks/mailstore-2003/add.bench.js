/**
 * How long does it take to add 30,000 messages?
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { requireEqual } from '../lib/question.js'
import { BATCH, openMailStore, storeContenders } from './contenders.js'
import { fillStore } from './fill.js'

const FIRST = 7_000_000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'add',
  title: 'Add 30,000 messages',
  notes: `Three tenths of --messages into an empty folder, ${BATCH} in a transaction, on the disk after each; parsing and compression are part of the time, making the mail is not. Checked: the number of messages, and of unseen ones.`,
  warmUp: 'none: a new process and a new file in each round',
  lines: [
    { id: 'add', label: 'add them', unit: 'ms', better: 'lower', reference: '42,761 ms' },
    { id: 'one', label: 'one of them', unit: 'ms', better: 'lower' }
  ],
  contenders: storeContenders,
  rounds: ({ rounds }) => Math.min(rounds, 3),
  async measure({ contender, folder, options, round, progress }) {
    const count = Math.round(options.messages * 0.3)
    const place = join(folder, `round-${round}`)
    mkdirSync(place)
    const store = await openMailStore(place, contender, { isNew: true })
    const what = { seed: options.seed, first: FIRST, count }
    const { ms, unseen } = await fillStore(store, what, progress)
    const counts = await store.counts()
    requireEqual(counts.total, count, 'messages')
    requireEqual(counts.unseen, unseen, 'unseen messages')
    await store.close()
    rmSync(place, { recursive: true })
    return {
      samples: { add: [ms], one: [ms / count] },
      rates: { add: (1000 * count) / ms, one: (1000 * count) / ms }
    }
  }
}
