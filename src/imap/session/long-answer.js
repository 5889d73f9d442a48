/**
 * Answers that are long and made at once: others have their turn between two pieces, and of a client that reads slowly no
 * more than a piece is held up.
 */
import { Slicer } from '../../support/slicer.js'

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
