/**
 * The text of one content as the search index takes it: the same pieces, decoded and folded in the same way, that a
 * search without the index would look at. Only then may the index be asked instead.
 */
import { BUILDER_VERSION, buildMessageMeta } from '../../mime/message-meta.js'
import { parseMessage } from '../../mime/parse-message.js'
import { decodePartTree } from '../../mime/part-tree.js'
import { prepared } from '../../database/statement.js'
import { readContentRange } from '../content-reader.js'
import { readChunk, requireContent } from '../content-rows.js'
import { BlockReader } from '../block-reader.js'
import { isStale, rebuildMeta } from '../meta-rows.js'
import { foldCase } from './fold.js'
import { base64Texts } from '../shared-parts/find-parts.js'
import { HeaderText } from './match-text.js'
import { readHeaderBlock, readTextPieces } from './message-text.js'
import { withEnd } from './terms.js'
import { TokenCollector } from './token-collector.js'
import { fit, SEPARATOR } from './tokens.js'

/**
 * @typedef {Pick<import('../account-database.js').AccountDatabase, 'readSettled'>} Source
 * @typedef {import('../../mime/message-meta.js').MessageMeta} MessageMeta
 * @typedef {import('./message-text.js').TextRecord} TextRecord
 *
 * @typedef {object} IndexText
 * @property {{ body: TokenCollector, header: TokenCollector, ids: Set<string> }} tokens - `ids`: values of Message-ID, or
 *   the separator where they are too many or too long
 * @property {string[]} fields - SUBJECT, FROM, TO and CC for `search_header`
 * @property {number} characters - that were read
 * @property {boolean} hasBase64 - whether it has parts that may be shared with others
 * @property {MessageMeta | null} madeMeta - what is made of the message; null when it has been made before
 *
 * @typedef {object} ContentRow
 * @property {number} size
 * @property {number | null} builderVersion
 * @property {Buffer | null} partTree
 */

/**
 * Of the code here, of folding, and of what src/mime/text-extract.js and searchable-header.js take for text: raise it
 * with each change.
 */
const TEXT_VERSION = 15

/** What search_state.text_version must be: the offsets of the parts are the MIME builder's. */
export const INDEX_VERSION = BUILDER_VERSION * 1000 + TEXT_VERSION

/** A content with more different tokens is left out and looked at by each search: it is no text but noise. */
const MAX_TOKENS = 100_000

/** A message of at most so many bytes, of which nothing has been made yet, is read once: its texts die young then. */
const WHOLE_BYTES = 32 * 1024

/** Values of Message-ID that are kept as they stand: one is usual, of 20 to 100 characters. */
const MAX_IDS = 8
const MAX_ID_LENGTH = 256

/** In the order of the columns of `search_header`. */
const INDEXED_FIELDS = Object.freeze(['subject', 'from', 'to', 'cc'])

/**
 * @param {Source} database
 * @param {number} contentId
 * @param {import('./token-collector.js').BatchTokens} batchTokens - of the batch that it comes into
 * @param {import('./message-text.js').Pace} pace
 * @returns {Promise<IndexText | null>} null when there is too much in it
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function readIndexText(database, contentId, batchTokens, pace) {
  const { record, madeMeta } = await readRecord(database, contentId)
  const reader = {
    readContent: (
      /** @type {number} */ id,
      /** @type {number} */ start,
      /** @type {number} */ end
    ) => readContentRange(database, id, start, end)
  }
  const headerText = new HeaderText(await readHeaderBlock(reader, record))
  const header = new TokenCollector(batchTokens)
  const whole = fit(headerText.whole())
  header.add(whole, false)
  header.end()
  const body = new TokenCollector(batchTokens)
  let characters = whole.length
  for await (const { text, isContinued } of readTextPieces(reader, record, pace)) {
    characters += text.length
    body.add(fit(foldCase(text)), isContinued)
    if (body.size + header.size > MAX_TOKENS) return null
  }
  body.end()
  const fields = INDEXED_FIELDS.map((name) => withEnd(fit(headerText.field(name).join(SEPARATOR))))
  const { partTree } = record
  const hasBase64 = partTree !== undefined && base64Texts(decodePartTree(partTree)).length > 0
  return {
    tokens: { body, header, ids: idsOf(headerText) },
    fields,
    characters,
    hasBase64,
    madeMeta
  }
}

/**
 * @param {HeaderText} header
 * @returns {Set<string>}
 */
function idsOf(header) {
  const values = header.field('message-id')
  const isUsual = values.length <= MAX_IDS && values.every(({ length }) => length <= MAX_ID_LENGTH)
  return new Set(isUsual ? values.map(fit).filter((value) => value !== '') : [SEPARATOR])
}

/**
 * @param {Source} database
 * @param {number} contentId
 * @returns {Promise<{ record: TextRecord, madeMeta: MessageMeta | null }>}
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
async function readRecord(database, contentId) {
  const read = await database.readSettled((db) => {
    const row = /** @type {ContentRow | undefined} */ (
      prepared(
        db,
        `SELECT c.size, s.builder_version AS builderVersion, s.part_tree AS partTree
         FROM contents c LEFT JOIN message_structures s ON s.content_id = c.id WHERE c.id = ?`
      ).get(contentId)
    )
    const size = row?.size ?? 0
    const isInRow = row && !isStale(row.builderVersion)
    const partTree = isInRow ? row.partTree : new BlockReader(db).entry('partTree', contentId)
    const isReadWhole = partTree === null && size > 0 && size <= WHOLE_BYTES
    const content = isReadWhole ? readChunk(db, contentId, 0, requireContent(db, contentId)) : null
    return { size, partTree, content }
  })
  const { size, partTree, content } = read
  if (partTree !== null) return { record: { contentId, size, partTree }, madeMeta: null }
  const madeMeta =
    content === null
      ? await rebuildMeta((work) => database.readSettled(work), contentId)
      : buildMessageMeta(parseMessage(content))
  const { header } = madeMeta
  return {
    record: { contentId, size, header, partTree: madeMeta.partTree, ...(content && { content }) },
    madeMeta
  }
}
