/**
 * Writes the sections of one FETCH: their bytes pass in pieces from the store to the socket, as fast as the client takes them.
 */
import { nextTurn } from '../../support/turns.js'
import { withoutNul } from '../protocol/compile/mask-nul.js'

/** @import { FetchWriter } from '../protocol/compile/fetch.js' */
/** @import { BinaryItem, SectionItem } from '../protocol/values/fetch-item.js' */
/** @import { Connection } from './connection.js' */
/** @import { OpenedSection, SectionSource } from './fetch-sections.js' */

/** Gathered responses of more bytes are handed to the connection. */
export const BATCH_BYTES = 64 * 1024
/** Pieces of a body of more bytes go out by themselves, without being copied. */
const COPY_BYTES = 8 * 1024
/**
 * After so many bytes of bodies others have a turn: some 1 ms of work. Without it a client that reads as fast as we write
 * would hold the loop for a whole message, and the memory of sent bytes could not be given back.
 */
const SLICE_BYTES = 256 * 1024

/** The sections of one FETCH. */
export class FetchSectionWriter {
  #connection
  #writer
  #handOver
  /** Bytes written since other sessions last had a turn. */
  #sliceBytes = 0

  /**
   * @param {Pick<Connection, 'write' | 'writeOwned' | 'drain' | 'destroy' | 'isCongested'>} connection
   * @param {FetchWriter} writer - of the response that the sections are in
   * @param {() => void} handOver - hands over what the writer has gathered
   */
  constructor(connection, writer, handOver) {
    this.#connection = connection
    this.#writer = writer
    this.#handOver = handOver
  }

  /**
   * @param {SectionItem | BinaryItem} item
   * @param {OpenedSection} opened
   * @throws what reading it throws; the connection is cut off then
   */
  async write(item, opened) {
    try {
      const source = typeof opened === 'function' ? await opened() : opened
      if (item.kind === 'BINARY.SIZE') this.#writer.binarySize(item, source?.sizeBytes ?? 0)
      else if (source === null) this.#writer.noSection(item)
      else await this.#writeSource(item, source)
    } catch (error) {
      // The response is on its way already: the client would understand nothing that follows.
      this.#connection.destroy()
      throw error
    }
  }

  /**
   * @param {SectionItem | BinaryItem} item
   * @param {SectionSource} source
   */
  async #writeSource(item, { sizeBytes, first, rest, hasNul = false, isOwned = false }) {
    this.#writer.sectionHead(item, sizeBytes, { isLiteral8: hasNul })
    let left = sizeBytes
    try {
      if (first !== null)
        left -= await this.#writePiece(hasNul ? first : withoutNul(first), isOwned)
      for (;;) {
        const piece = left > 0 ? await rest?.next() : undefined
        if (piece === undefined || piece.done === true) break
        const { value } = piece
        left -= await this.#writePiece(hasNul ? value : withoutNul(value), isOwned)
      }
      if (left !== 0) throw new Error('the content is not as long as its row says')
    } finally {
      await rest?.return?.()
    }
  }

  /**
   * @param {Buffer} piece
   * @param {boolean} isOwned - see SectionSource
   * @returns {Promise<number>} its length
   */
  async #writePiece(piece, isOwned) {
    const connection = this.#connection
    // Once sent, the piece is empty.
    const { length } = piece
    if (length <= COPY_BYTES) {
      this.#writer.bytes(piece)
      if (this.#writer.length >= BATCH_BYTES) this.#handOver()
    } else {
      this.#handOver()
      if (isOwned) connection.writeOwned(piece)
      else connection.write(piece)
    }
    this.#sliceBytes += length
    if (this.#sliceBytes >= SLICE_BYTES) {
      this.#sliceBytes = 0
      await nextTurn()
    }
    if (connection.isCongested) await connection.drain()
    return length
  }
}
