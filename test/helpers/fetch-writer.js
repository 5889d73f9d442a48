import assert from 'node:assert/strict'

/**
 * @param {import('../../src/imap/protocol/compile/fetch.js').FetchWriter} writer - empty afterwards
 * @returns {Buffer} what it hands over
 */
export function taken(writer) {
  /** @type {Buffer[]} */
  const pieces = []
  writer.handTo((bytes) => pieces.push(Buffer.from(bytes)))
  assert.equal(writer.length, 0)
  return Buffer.concat(pieces)
}
