/** CAPABILITY, NOOP, LOGOUT, STARTTLS, CHECK, CLOSE, UNSELECT, EXPUNGE, NAMESPACE, IDLE: RFC 9051 §6. */

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @param {Arguments} args
 * @returns {Record<string, never>} nothing
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseNoArguments(args) {
  args.end()
  return {}
}
