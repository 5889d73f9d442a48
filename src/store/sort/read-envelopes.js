/**
 * Reads the ENVELOPEs of many messages: pages in one piece, and one by one where some must be made first.
 */
import { readPages } from './read-pages.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */

const PAGE_MESSAGES = 250

const NO_BYTES = Buffer.alloc(0)

/** @type {import('../read-page.js').PageNeeds} */
const NEEDS = { withDates: false, columns: ['envelope'], previews: 'none' }

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, envelope: Buffer) => void} onEnvelope - called in the order of the slots; not for messages that have
 *   gone meanwhile
 * @param {Slicer} slicer - asked before each: one may be long
 */
export async function readEnvelopes(source, slots, onEnvelope, slicer) {
  const { store, view } = source
  const uidOf = (/** @type {number | undefined} */ slot) => view.uids[slot ?? -1] ?? Infinity
  for (let start = 0; start < slots.length;) {
    await slicer.breathe()
    const wanted = slots.slice(start, start + PAGE_MESSAGES)
    const page = await store.readPage(view, wanted, NEEDS)
    if (page === null) {
      await readSingly(source, wanted, onEnvelope, slicer)
      start += wanted.length
      continue
    }
    const { starts = [], bytes = NO_BYTES } = page.columns.envelope ?? {}
    let at = 0
    for (const [nth, uid] of page.uids.entries()) {
      while (uidOf(wanted[at]) < uid) at++
      const slot = wanted[at] ?? -1
      if (uidOf(slot) !== uid) continue
      if (slicer.isSpent) await slicer.breathe()
      onEnvelope(slot, bytes.subarray(starts[nth], starts[nth + 1]))
    }
    const lastUid = page.isWhole ? uidOf(wanted.at(-1)) : (page.uids.at(-1) ?? 0)
    while (uidOf(slots[start]) <= lastUid) start++
  }
}

/**
 * @param {MessageSource} source
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, envelope: Buffer) => void} onEnvelope
 * @param {Slicer} slicer
 */
async function readSingly(source, slots, onEnvelope, slicer) {
  for await (const page of readPages(source, slots, { envelope: true }, slicer))
    for (const { slot, record } of page) {
      if (slicer.isSpent) await slicer.breathe()
      if (record.envelope) onEnvelope(slot, record.envelope)
    }
}
