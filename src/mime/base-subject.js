/**
 * The base subject that SORT and THREAD compare: RFC 5256 §2.1. Case is kept; compare with the collation.
 */
import { MAX_BASE_SUBJECT_CHARACTERS } from './limits.js'

/** RFC 5256 §5 `subj-trailer`. */
const TRAILER = /(?:\s|\(fwd\))+$/i

/** RFC 5256 §5 `subj-blob`. */
const BLOB = /^\[[^[\]]*\]\s*/

/** RFC 5256 §5 `subj-refwd`. */
const REPLY_OR_FORWARD = /^(?:re|fwd?)\s*(?:\[[^[\]]*\]\s*)?:\s*/i

/** RFC 5256 §5 `subj-fwd`. */
const FORWARDED = /^\[fwd:(.*)\]$/i

/**
 * @param {string} subject - decoded
 * @returns {string} without reply and forward marks, list names in brackets, and surplus space
 */
export function baseSubject(subject) {
  let base = subject.slice(0, MAX_BASE_SUBJECT_CHARACTERS).replace(/\s+/g, ' ').trimStart()
  for (;;) {
    base = withoutLeaders(base.replace(TRAILER, ''))
    const forwarded = FORWARDED.exec(base)
    if (!forwarded) return base
    base = (forwarded[1] ?? '').trimStart()
  }
}

/**
 * @param {string} subject - decoded
 * @returns {boolean} whether RFC 5256 §3 counts it as that of a reply or forward: its base leaves out a mark of one
 */
export function isReplyOrForward(subject) {
  const base = subject.slice(0, MAX_BASE_SUBJECT_CHARACTERS).replace(/\s+/g, ' ').trim()
  if (/\(fwd\)$/i.test(base) || withoutReplyMark(base) !== base) return true
  // In `[fwd: tea] [list]` the first bracket is a blob like any other.
  return FORWARDED.test(withoutBlobs(base))
}

/**
 * Steps 3 to 5 of RFC 5256 §2.1.
 * @param {string} text
 * @returns {string}
 */
function withoutLeaders(text) {
  let base = withoutReplyMark(text)
  for (let rest = withoutReplyMark(base); rest !== base; rest = withoutReplyMark(base)) base = rest
  // No blob has a reply mark behind it now: looking again after each took 40 ms for a subject of nothing but blobs.
  return withoutBlobs(base)
}

/**
 * @param {string} text
 * @returns {string}
 */
function withoutBlobs(text) {
  let base = text
  for (;;) {
    const rest = base.replace(BLOB, '')
    // A subject of a blob alone, such as a list's name, keeps the blob.
    if (rest === base || rest === '') return base
    base = rest
  }
}

/**
 * RFC 5256 §5 `subj-leader`: blobs before a reply mark go with it, and stay without one.
 * @param {string} text
 * @returns {string}
 */
function withoutReplyMark(text) {
  let rest = text
  for (let blob = BLOB.exec(rest); blob; blob = BLOB.exec(rest)) rest = rest.slice(blob[0].length)
  const mark = REPLY_OR_FORWARD.exec(rest)
  return mark ? rest.slice(mark[0].length) : text
}
