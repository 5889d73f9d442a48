/** COPY and MOVE with their UID forms, RFC 9051 §6.4.7 to §6.4.9; UID EXPUNGE, §6.4.9. */

/** @typedef {import('./arguments.js').Arguments} Arguments */
/** @typedef {import('../values/sequence-set.js').SequenceSet} SequenceSet */

/**
 * @param {Arguments} args
 * @param {{ isUid: boolean }} command
 * @returns {{ isUid: boolean, set: SequenceSet, mailbox: string }}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseCopy(args, { isUid }) {
  const set = args.set(isUid, 1)
  const mailbox = args.mailbox()
  args.end()
  return { isUid, set, mailbox }
}

/**
 * @param {Arguments} args
 * @returns {{ set: SequenceSet }}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseUidExpunge(args) {
  const set = args.set(true)
  args.end()
  return { set }
}
