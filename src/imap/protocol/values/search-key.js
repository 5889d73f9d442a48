/**
 * A search as a tree, RFC 9051 §6.4.4, with the keys of RFC 5032 (WITHIN), RFC 7162 §3.1.5 (MODSEQ) and RFC 8514
 * (SAVEDATE). Text is decoded already; the text of messages that it is compared with is decoded as well.
 *
 * @typedef {import('./internal-date.js').CalendarDate} CalendarDate
 * @typedef {import('./sequence-set.js').SequenceSet} SequenceSet
 *
 * @typedef {{ name: string, type: 'all' | 'private' | 'shared' }} ModSeqEntry
 *
 * @typedef {{ op: 'and', keys: SearchKey[] }
 *   | { op: 'or', left: SearchKey, right: SearchKey }
 *   | { op: 'not', key: SearchKey }
 *   | { op: 'all' }
 *   | { op: 'flag', flag: string, isSet: boolean }
 *   | { op: 'recent' | 'new' | 'old' }
 *   | { op: 'header', field: string, value: string }
 *   | { op: 'body' | 'text', value: string }
 *   | { op: 'date', which: 'internal' | 'sent' | 'saved', comparison: 'before' | 'on' | 'since', date: CalendarDate }
 *   | { op: 'larger' | 'smaller', size: number }
 *   | { op: 'sequence' | 'uid', set: SequenceSet }
 *   | { op: 'modseq', value: number, entry: ModSeqEntry | null }
 *   | { op: 'younger' | 'older', seconds: number }
 *   | { op: 'emailId' | 'threadId', id: string }} SearchKey
 */

/**
 * @param {SearchKey[]} keys - at least one
 * @returns {SearchKey} all of them together
 */
export function allOf(keys) {
  const [first] = keys
  return keys.length === 1 && first !== undefined ? first : { op: 'and', keys }
}
