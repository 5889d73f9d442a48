/** GETQUOTA and GETQUOTAROOT, RFC 9208 §4.1.1 and §4.1.2. */

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @param {Arguments} args
 * @returns {{ root: string }}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseGetQuota(args) {
  const root = args.astring().toString()
  args.end()
  return { root }
}
