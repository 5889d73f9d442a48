/** AUTHENTICATE, RFC 9051 §6.2.2, with the initial response of RFC 4959 (SASL-IR). */
import { badSyntax } from '../syntax-failure.js'
import { decodeBase64 } from './base64.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */

/**
 * @typedef {object} AuthenticateArguments
 * @property {string} mechanism - upper case
 * @property {Buffer | null} initialResponse - decoded, memory of its own; null when there is none. The received
 *   bytes are zeroed here
 */

/**
 * @param {Arguments} args
 * @returns {AuthenticateArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseAuthenticate(args) {
  try {
    const mechanism = args.atom()
    if (args.left === 0) return { mechanism, initialResponse: null }
    const token = args.next()
    args.end()
    if (token.type !== 'atom') throw badSyntax('Expected base64')
    const { bytes } = token
    // A single "=" is the empty response, RFC 4959 §3.
    const isEmpty = bytes.length === 1 && bytes[0] === 61
    return { mechanism, initialResponse: isEmpty ? Buffer.alloc(0) : decodeBase64(bytes) }
  } finally {
    args.zero()
  }
}
