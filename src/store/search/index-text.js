/**
 * The text of one content as the search index takes it: the same pieces, decoded and folded in the same way, that a
 * search without the index would look at. Only then may the index be asked instead.
 */
import { BUILDER_VERSION } from '../../mime/message-meta.js'
import { prepared } from '../../database/statement.js'
import { readContentRange } from '../content-reader.js'
import { isStale, rebuildMeta } from '../meta-rows.js'
import { foldCase } from './fold.js'
import { HeaderText } from './match-text.js'
import { readHeaderBlock, readTextPieces } from './message-text.js'
import { wordsOf } from './terms.js'

/**
 * @typedef {Pick<import('../account-database.js').AccountDatabase, 'readSettled'>} Source
 *
 * @typedef {object} IndexText
 * @property {string} body - for an even row of `search`
 * @property {string} header - for an odd one
 * @property {string} bodyWords - for the same rows of `search_word`
 * @property {string} headerWords
 * @property {string[]} fields - SUBJECT, FROM, TO and CC for `search_header`
 *
 * @typedef {object} ContentRow
 * @property {number} size
 * @property {number | null} builderVersion
 * @property {Buffer | null} partTree
 */

/** Of the code here, of folding, and of what src/mime/text-extract.js takes for text: raise it with each change. */
const TEXT_VERSION = 2

/** What search_state.text_version must be: the offsets of the parts are the MIME builder's. */
export const INDEX_VERSION = BUILDER_VERSION * 1000 + TEXT_VERSION

/** Longer texts are left out and looked at by each search: FTS5 takes a text in one piece. UTF-16 units. */
const MAX_CHARACTERS = 1024 * 1024

/** Stands between texts that must not match together; no term that is asked of the index has it. */
const SEPARATOR = '\ufffd'

/** What FTS5 would cut the text at (NUL) or turn into U+FFFD by itself. */
const UNFIT = /[\0\ufffe\uffff]/g

/** In the order of the columns of `search_header`. */
export const INDEXED_FIELDS = Object.freeze(['subject', 'from', 'to', 'cc'])

/**
 * @param {Source} database
 * @param {number} contentId
 * @returns {Promise<IndexText | null>} null when it is too long
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function readIndexText(database, contentId) {
  const record = await readRecord(database, contentId)
  const reader = {
    readContent: (
      /** @type {number} */ id,
      /** @type {number} */ start,
      /** @type {number} */ end
    ) => readContentRange(database, id, start, end)
  }
  const headerText = new HeaderText(await readHeaderBlock(reader, record))
  const header = fit(headerText.whole())
  const pieces = []
  let characters = header.length
  for await (const { text, isContinued } of readTextPieces(reader, record)) {
    characters += text.length
    if (characters > MAX_CHARACTERS) return null
    if (!isContinued && pieces.length > 0) pieces.push(SEPARATOR)
    pieces.push(fit(foldCase(text)))
  }
  const body = pieces.join('')
  return {
    body,
    header,
    bodyWords: wordsOf(body),
    headerWords: wordsOf(header),
    fields: INDEXED_FIELDS.map((name) => fit(headerText.field(name).join(SEPARATOR)))
  }
}

/**
 * @param {string} text
 * @returns {string} the same text for every term that is asked of the index
 */
const fit = (text) => text.toWellFormed().replace(UNFIT, SEPARATOR)

/**
 * @param {Source} database
 * @param {number} contentId
 * @returns {Promise<import('./message-text.js').TextRecord>}
 */
async function readRecord(database, contentId) {
  const row = await database.readSettled(
    (db) =>
      /** @type {ContentRow | undefined} */ (
        prepared(
          db,
          `SELECT c.size, s.builder_version AS builderVersion, s.part_tree AS partTree
           FROM contents c LEFT JOIN message_structures s ON s.content_id = c.id WHERE c.id = ?`
        ).get(contentId)
      )
  )
  if (row?.partTree && !isStale(row.builderVersion)) {
    const { size, partTree } = row
    return { contentId, size, partTree }
  }
  const { partTree } = await rebuildMeta((work) => database.readSettled(work), contentId)
  return { contentId, size: row?.size ?? 0, partTree }
}
