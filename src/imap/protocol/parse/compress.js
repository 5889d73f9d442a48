/** COMPRESS, RFC 4978 §5: `"COMPRESS" SP algorithm`. */

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @param {Arguments} args
 * @returns {{ algorithm: string }} in upper case
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseCompress(args) {
  const algorithm = args.atom()
  args.end()
  return { algorithm }
}
