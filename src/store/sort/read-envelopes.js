/**
 * Reads the ENVELOPEs of many messages: whole pages of neighbours in one piece, others one by one.
 */
import { readPages } from './read-pages.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */

/** Messages a page: the range of their UIDs is up to twice as long. */
const PAGE_MESSAGES = 250

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
    const range = { firstUid: uidOf(wanted[0]), lastUid: uidOf(wanted.at(-1)), withDates: false }
    const isDense = range.lastUid - range.firstUid < 2 * wanted.length
    const page = isDense ? await store.readPage(view, range, 'envelope') : null
    if (page === null) {
      await readSingly(source, wanted, onEnvelope, slicer)
      start += wanted.length
      continue
    }
    let at = 0
    let end = 0
    for (const [nth, uid] of page.uids.entries()) {
      const begin = end
      end += page.lengths[nth] ?? 0
      while (uidOf(wanted[at]) < uid) at++
      const slot = wanted[at] ?? -1
      if (uidOf(slot) !== uid) continue
      if (slicer.isSpent) await slicer.breathe()
      onEnvelope(slot, page.bytes.subarray(begin, end))
    }
    const lastUid = page.isWhole ? range.lastUid : (page.uids.at(-1) ?? 0)
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
