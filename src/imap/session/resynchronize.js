/**
 * What a client has missed while it was away: messages that are gone, and flags that have changed. RFC 7162 §3.2.5 and
 * §3.2.6.
 */
import { Slicer } from '../../support/slicer.js'
import { compileVanished } from '../protocol/compile/vanished.js'
import { intersectRanges, withoutRanges } from '../protocol/values/number-ranges.js'
import { SequenceSet } from '../protocol/values/sequence-set.js'
import { writeLongAnswer } from './long-answer.js'
import { tellFlags } from './mailbox-news.js'

/** @import { QresyncArguments } from '../protocol/parse/select.js' */
/** @import { NumberRange } from '../protocol/values/sequence-set.js' */
/** @import { SelectedMailbox } from './selected-mailbox.js' */
/** @import { Session } from './session.js' */

/** So many pairs of a client are compared between two looks at the clock. */
const STEP_PAIRS = 1024

const EVERYTHING = new SequenceSet([{ from: 1, to: 0 }])

/**
 * Answers the QRESYNC parameter of SELECT and EXAMINE (RFC 7162 §3.2.5.1), in a mailbox that has just been selected. A
 * client that knows another UIDVALIDITY is told nothing.
 *
 * @param {Session} session
 * @param {QresyncArguments} known - what the client knows
 */
export async function tellMissed(session, { uidValidity, modSeq, knownUids, seqMatch }) {
  const selected = session.requireSelected()
  const { view } = selected
  if (uidValidity !== view.uidValidity) return
  const set = knownUids ?? EVERYTHING
  await tellVanished(session, {
    set,
    sinceModSeq: modSeq,
    firstUid: seqMatch === null ? 1 : (await lastMatchingUid(selected, seqMatch)) + 1
  })
  const { slots } = selected.resolve(set, true, modSeq)
  await tellFlags(session, slots, { withUid: true, withFlags: true, withModSeq: true })
}

/**
 * Tells which messages of a set have been expunged since a mod-sequence. Where the log of expunges does not reach back
 * so far, that is every UID that has no message. A message that this session still counts is not among them, although
 * it may have just gone: that will be told without EARLIER.
 *
 * @param {Session} session
 * @param {object} request
 * @param {SequenceSet} request.set - UIDs; `*` is the last one ever given
 * @param {number} request.sinceModSeq
 * @param {number} [request.firstUid] - the client knows what became of those below
 */
export async function tellVanished(session, { set, sinceModSeq, firstUid = 1 }) {
  const selected = session.requireSelected()
  const { view } = selected
  const lastUid = view.uidNext - 1
  const wanted = [...intersectRanges(set.resolve(lastUid), [{ from: firstUid, to: lastUid }])]
  if (wanted.length === 0) return
  const { isComplete, ranges } = await session.store.readExpunged(view.mailboxId, sinceModSeq)
  const expunged = ranges.map(({ first, last }) => ({ from: first, to: last }))
  const gone = isComplete ? intersectRanges(wanted, expunged) : wanted
  const untold = withoutRanges(gone, (range) => visibleUids(selected, range))
  await writeLongAnswer(session, compileVanished(untold, { isEarlier: true }))
}

/**
 * @param {SelectedMailbox} selected
 * @param {NumberRange} range
 * @returns {Generator<NumberRange>} UIDs within it whose messages the client counts, or will be told of; in runs, because
 *   they may be millions
 */
function* visibleUids(selected, { from, to }) {
  const { view } = selected
  const end = view.lowerBound(to + 1)
  /** @type {NumberRange | null} */
  let run = null
  for (let slot = view.lowerBound(from); slot < end; slot++) {
    if (view.isExpunged(slot) && selected.sequenceOfSlot(slot) === 0) continue
    const uid = /** @type {number} */ (view.uids[slot])
    if (run !== null && uid === run.to + 1) run.to = uid
    else {
      if (run !== null) yield run
      run = { from: uid, to: uid }
    }
  }
  if (run !== null) yield run
}

/**
 * RFC 7162 §3.2.5.2: pairs of a sequence number and its UID as the client knows them. Up to the last pair that is still
 * right it has missed no expunge.
 *
 * @param {SelectedMailbox} selected
 * @param {{ sequences: SequenceSet, uids: SequenceSet }} seqMatch
 * @returns {Promise<number>} the UID of that pair, 0 if there is none
 */
async function lastMatchingUid(selected, { sequences, uids }) {
  const slicer = new Slicer()
  const knownUids = numbersOf(uids)
  let matching = 0
  for (const sequence of numbersOf(sequences)) {
    const { value: uid } = knownUids.next()
    const slot = selected.slotOfSequence(sequence)
    if (slot < 0 || uid === undefined || selected.view.uids[slot] !== uid) break
    matching = uid
    if (sequence % STEP_PAIRS === 0) await slicer.breathe()
  }
  return matching
}

/**
 * @param {SequenceSet} set
 * @returns {Generator<number, undefined>} one after the other, because a range may be of any length
 */
function* numbersOf(set) {
  for (const { from, to } of set.resolve(0))
    for (let number = from; number <= to; number++) yield number
}
