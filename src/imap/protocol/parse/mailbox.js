/** DELETE, SUBSCRIBE, UNSUBSCRIBE, RENAME: RFC 9051 §6.3.5 to §6.3.8. */

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @param {Arguments} args
 * @returns {{ mailbox: string }}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseMailbox(args) {
  const mailbox = args.mailbox()
  args.end()
  return { mailbox }
}

/**
 * @param {Arguments} args
 * @returns {{ from: string, to: string }}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseRename(args) {
  const from = args.mailbox()
  const to = args.mailbox()
  args.end()
  return { from, to }
}
