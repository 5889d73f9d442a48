/**
 * How long does it take to open the store, to open a folder of 100,000 messages, to count them, and to close?
 */
import { dropFromPageCache } from '../lib/page-cache.js'
import { now, requireEqual } from '../lib/question.js'
import { fileOf, openMailStore, storeContenders } from './contenders.js'
import { fillStore } from './fill.js'

const LABELS = /** @type {const} */ ([
  ['store', 'open the store', '60 ms'],
  ['folder', 'open the folder', '1,462 ms'],
  ['counts', 'count total and unseen', '40 ms'],
  ['close', 'close', '1,793 ms']
])

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'open',
  title: 'Open the store and a folder of 100,000',
  notes:
    'In the process itself, no network. Opening the folder reads every message’s UID, flags and MODSEQ (plain: id, date, size, flag). Cold: the file was dropped from the page cache of the kernel. Checked: the number of messages and of unseen ones.',
  warmUp: 'cold comes first in a new process; then one that is not counted',
  lines: [
    ...LABELS.map(([id, label, reference]) => ({
      ...{ id, label, reference },
      unit: /** @type {const} */ ('ms'),
      better: /** @type {const} */ ('lower')
    })),
    { id: 'cold', label: 'open store and folder, cold', unit: 'ms', better: 'lower' }
  ],
  contenders: storeContenders,
  async prepare({ contender, folder, options, progress }) {
    const store = await openMailStore(folder, contender, { isNew: true })
    const { seed, messages } = options
    const { unseen } = await fillStore(store, { seed, first: 0, count: messages }, progress)
    await store.close()
    return { unseen }
  },
  async measure({ contender, folder, options, prepared }) {
    /** @type {Record<string, number[]>} */
    const samples = { store: [], folder: [], counts: [], close: [], cold: [] }
    const once = async (/** @type {boolean} */ isCounted) => {
      const times = [now()]
      const store = await openMailStore(folder, contender, { isNew: false })
      times.push(now())
      requireEqual(await store.openFolder(), options.messages, 'messages in the folder')
      times.push(now())
      const { total, unseen } = await store.counts()
      times.push(now())
      requireEqual(total, options.messages, 'messages counted')
      requireEqual(unseen, prepared['unseen'], 'unseen messages')
      await store.close()
      times.push(now())
      const between = times.slice(1).map((time, index) => time - Number(times[index]))
      if (isCounted) LABELS.forEach(([id], index) => samples[id]?.push(Number(between[index])))
      return Number(between[0]) + Number(between[1])
    }
    const isCold = dropFromPageCache(fileOf(folder, contender))
    samples['cold']?.push(await once(false))
    await once(false)
    for (let index = options.isQuick ? 2 : 10; index > 0; index--) await once(true)
    return { samples, facts: { 'cold reads from the disk': `${isCold}` } }
  }
}
