/** ENABLE, RFC 9051 §6.3.1: unknown capabilities are no error, some clients ask blindly. */

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @param {Arguments} args
 * @returns {{ capabilities: string[] }} upper case
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseEnable(args) {
  const capabilities = []
  do capabilities.push(args.atom())
  while (args.left > 0)
  return { capabilities }
}
