/**
 * What SEARCH answers and saves; for SORT it is the same, in the order of the sort (RFC 5267 §3). Without RETURN: RFC 3501
 * §7.2.5, RFC 5256 §4. With it: RFC 4731 §3.1 (MIN, MAX, ALL, COUNT), §3.2 (MODSEQ); RFC 5182 §2.1 and §2.4 (SAVE);
 * RFC 9394 §3.1 and §3.2 (PARTIAL).
 */
import { Slicer } from '../../support/slicer.js'
import { compileNumberList } from '../protocol/compile/number-list.js'
import { compileEsearch } from '../protocol/compile/search.js'
import { savesResult } from '../protocol/parse/search.js'
import { takePage } from '../protocol/values/partial-range.js'
import { writeLongAnswer } from './long-answer.js'
import { NOTHING_SAVED, SavedResult } from './saved-result.js'
import { hasMessageNumbers, hasModSeq } from './search-query.js'

/** @import { MailboxView } from '../../store/mailbox-view.js' */
/** @import { SearchArguments, SearchReturn } from '../protocol/parse/search.js' */
/** @import { SyntaxFailure } from '../protocol/syntax-failure.js' */
/** @import { RawCommand } from '../protocol/token.js' */
/** @import { CommandResult } from './dispatcher.js' */
/** @import { Session } from './session.js' */

/** So many slots are visited between two looks at the clock. */
const STEP_SLOTS = 1024

/**
 * @param {Session} session
 * @param {Pick<SearchArguments, 'isUid' | 'key' | 'returns'> & { name: 'SEARCH' | 'SORT', tag: string }} command
 * @param {() => Promise<readonly number[]>} find - gives the slots of the messages found, in the order of the answer
 * @returns {Promise<CommandResult>}
 */
export async function answerSearch(session, { name, tag, isUid, key, returns }, find) {
  const selected = session.requireSelected()
  const tellsModSeq = hasModSeq(key)
  if (tellsModSeq) session.enableCondstore()
  const slots = await find().catch((error) => {
    // RFC 5182 §2.1: a search that is answered NO leaves nothing saved; until then `$` may stand in the keys themselves.
    if (returns?.options.includes('SAVE')) selected.savedResult = NOTHING_SAVED
    throw error
  })
  if (returns !== null) await answerReturn(session, { tag, isUid, slots, returns, tellsModSeq })
  else {
    const { uids, modSeqs } = selected.view
    const modSeq = tellsModSeq && slots.length > 0 ? highestModSeqOf(slots, modSeqs) : null
    const numberAt = (/** @type {number} */ index) => {
      const slot = /** @type {number} */ (slots[index])
      return isUid ? /** @type {number} */ (uids[slot]) : selected.sequenceOfSlot(slot)
    }
    await writeLongAnswer(session, compileNumberList(name, slots.length, numberAt, { modSeq }))
  }
  return {
    text: `${isUid ? `UID ${name}` : name} completed`,
    holdsExpunges: hasMessageNumbers(key)
  }
}

/**
 * @param {Session} session
 * @param {object} answer
 * @param {string} answer.tag - of the command
 * @param {boolean} answer.isUid
 * @param {readonly number[]} answer.slots - of the messages found, in the order of the mailbox or of the sort
 * @param {SearchReturn} answer.returns
 * @param {boolean} answer.tellsModSeq - MODSEQ was among the keys
 */
async function answerReturn(session, { tag, isUid, slots, returns, tellsModSeq }) {
  const selected = session.requireSelected()
  const { view } = selected
  const { options, partial } = returns
  const isSaved = options.includes('SAVE')
  const told = isSaved || tellsModSeq ? toldSlots(slots, returns) : []
  const modSeq = tellsModSeq && told.length > 0 ? highestModSeqOf(told, view.modSeqs) : null
  const slicer = new Slicer()
  if (isSaved) {
    selected.savedResult = new SavedResult(await uidsInOrder(view, told, slicer))
    // RFC 5182 §2.1: alone, SAVE also suppresses the answer.
    if (options.length === 1 && partial === null) return
  }
  const numberOf = (/** @type {number} */ slot) =>
    isUid ? /** @type {number} */ (view.uids[slot]) : selected.sequenceOfSlot(slot)
  const numbersOf = async (/** @type {readonly number[]} */ some) => {
    const numbers = new Uint32Array(some.length)
    for (let index = 0; index < some.length; index++) {
      if (index % STEP_SLOTS === 0) await slicer.breathe()
      numbers[index] = numberOf(/** @type {number} */ (some[index]))
    }
    return numbers
  }
  const isAll = options.includes('ALL') || (options.length === 0 && partial === null)
  const all = isAll ? await numbersOf(slots) : null
  const page = partial && { range: partial, numbers: await numbersOf(takePage(slots, partial)) }
  const [first] = slots
  const last = slots.at(-1)
  await writeLongAnswer(
    session,
    compileEsearch({
      tag,
      isUid,
      min: options.includes('MIN') && first !== undefined ? numberOf(first) : null,
      max: options.includes('MAX') && last !== undefined ? numberOf(last) : null,
      all,
      count: options.includes('COUNT') ? slots.length : null,
      partial: page,
      modSeq
    })
  )
}

/**
 * `$` has no order, while a sort has: asking of every slot whether it is meant takes a tenth of the time of sorting them back.
 *
 * @param {MailboxView} view
 * @param {readonly number[]} slots - each once, in no order
 * @param {Slicer} slicer
 * @returns {Promise<number[]>} UIDs, ascending
 */
async function uidsInOrder(view, slots, slicer) {
  const isMeant = new Uint8Array(view.length)
  for (let index = 0; index < slots.length; index++) {
    if (index % STEP_SLOTS === 0) await slicer.breathe()
    isMeant[/** @type {number} */ (slots[index])] = 1
  }
  const uids = []
  for (let slot = 0; slot < isMeant.length; slot++) {
    if (slot % STEP_SLOTS === 0) await slicer.breathe()
    if (isMeant[slot] === 1) uids.push(/** @type {number} */ (view.uids[slot]))
  }
  return uids
}

/**
 * The messages that `$` will stand for, and whose highest mod-sequence is told: all that were found, unless only some
 * of them are asked for.
 *
 * @param {readonly number[]} slots - found, in the order of the answer
 * @param {SearchReturn} returns
 * @returns {readonly number[]} each once, in no order
 */
function toldSlots(slots, { options, partial }) {
  const isPage = partial !== null
  const isEnds = options.includes('MIN') || options.includes('MAX')
  if (options.includes('ALL') || options.includes('COUNT') || (!isPage && !isEnds)) return slots
  const told = isPage ? takePage(slots, partial) : []
  const [first] = slots
  const last = slots.at(-1)
  if (options.includes('MIN') && first !== undefined && told[0] !== first) told.unshift(first)
  if (options.includes('MAX') && last !== undefined && told.at(-1) !== last) told.push(last)
  return told
}

/**
 * @param {readonly number[]} slots
 * @param {Float64Array} modSeqs
 * @returns {number}
 */
function highestModSeqOf(slots, modSeqs) {
  return slots.reduce((top, slot) => Math.max(top, modSeqs[slot] ?? 0), 0)
}

/**
 * A search that is answered NO leaves nothing saved (RFC 5182 §2.1), also where none runs because the charset is not known.
 *
 * @param {Session} session
 * @param {RawCommand} raw - a SEARCH or SORT
 * @param {SyntaxFailure} failure
 */
export function forgetSaved(session, raw, failure) {
  if (failure.code !== 'BAD_CHARSET' || !savesResult(raw)) return
  session.requireSelected().savedResult = NOTHING_SAVED
}
