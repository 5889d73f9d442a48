/**
 * Writes answers that are long and made at once: others have their turn between two pieces, and for a client that reads slowly
 * no more than one piece is held in memory.
 */
import { Slicer } from '../../support/slicer.js'
import { numberSetPieces } from '../protocol/values/sequence-set.js'

/** @import { Session } from './session.js' */

/**
 * @param {Session} session - whose selected mailbox the caller holds, if the pieces speak of it
 * @param {Iterable<Buffer>} pieces - each is written before the next one is asked for
 */
export async function writeLongAnswer(session, pieces) {
  const slicer = new Slicer()
  for (const piece of pieces) {
    session.writeCopied(piece)
    if (session.connection.isCongested) await session.connection.drain()
    else await slicer.breathe()
  }
}

/**
 * @param {ArrayLike<number>} numbers - ascending, each once; at least one
 * @param {Slicer} slicer
 * @returns {Promise<string>} the set of them, as on the wire
 */
export async function compileLongSet(numbers, slicer) {
  let set = ''
  for (const piece of numberSetPieces(numbers)) {
    set += piece
    if (slicer.isSpent) await slicer.breathe()
  }
  return set
}
