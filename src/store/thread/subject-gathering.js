/**
 * Step 5 of THREAD=REFERENCES, RFC 5256 §3: threads with one base subject become one.
 */

/** @import { ThreadContainer } from './references.js' */

/**
 * @param {readonly ThreadContainer[]} heads - sorted by date; changed
 * @param {() => ThreadContainer} newDummy
 * @returns {ThreadContainer[]} the heads that are left, and new ones, in no order
 */
export function gatherBySubject(heads, newDummy) {
  const table = subjectTable(heads)
  const left = new Set(heads)
  for (const head of heads) {
    const subject = subjectOf(head)
    const chosen = table.get(subject)
    if (subject === '' || chosen === undefined || chosen === head) continue
    left.delete(head)
    if (chosen.isDummy && head.isDummy)
      for (const child of head.children) chosen.children.push(child)
    else if (chosen.isDummy || (head.isReply && !chosen.isReply)) chosen.children.push(head)
    else {
      const dummy = newDummy()
      // Its subject is that of its first child.
      dummy.children = [chosen, head]
      left.delete(chosen)
      left.add(dummy)
      table.set(subject, dummy)
    }
  }
  return [...left]
}

/**
 * Steps 5.A and 5.B.
 *
 * @param {readonly ThreadContainer[]} heads
 * @returns {Map<string, ThreadContainer>} the one of each subject that the others come to
 */
function subjectTable(heads) {
  /** @type {Map<string, ThreadContainer>} */
  const table = new Map()
  for (const head of heads) {
    const subject = subjectOf(head)
    if (subject === '') continue
    const chosen = table.get(subject)
    const isBetter =
      chosen === undefined ||
      (!chosen.isDummy && (head.isDummy || (chosen.isReply && !head.isReply)))
    if (isBetter) table.set(subject, head)
  }
  return table
}

/**
 * @param {ThreadContainer} head
 * @returns {string}
 */
function subjectOf(head) {
  return (head.isDummy ? head.children[0]?.subject : head.subject) ?? ''
}
