/**
 * Derives from a message, once, at its arrival, everything that is stored beside it.
 *
 * @typedef {import('./parse-message.js').ParsedMessage} ParsedMessage
 * @typedef {import('./date.js').MailDate} MailDate
 *
 * @typedef {object} MessageMeta
 * @property {number} builderVersion
 * @property {Buffer} envelope - wire bytes of ENVELOPE, `(…)`
 * @property {Buffer} body - wire bytes of BODY
 * @property {Buffer} bodyStructure - wire bytes of BODYSTRUCTURE
 * @property {Buffer} partTree - for `decodePartTree`
 * @property {Buffer | null} header - the top header block with its blank line; null when it is large (limits.js)
 * @property {string | null} messageId - `<id@host>` in normal form
 * @property {string | null} inReplyTo - the first identifier of In-Reply-To
 * @property {string[]} references - identifiers of References, oldest first
 * @property {string} baseSubject - RFC 5256 §2.1
 * @property {MailDate | null} sentDate - of the Date field
 */
import { ByteWriter } from './byte-writer.js'
import { baseSubject } from './base-subject.js'
import { decodeByteString } from './encoded-word.js'
import { MAX_BASE_SUBJECT_CHARACTERS } from './limits.js'
import { encodePartTree } from './part-tree.js'
import { fieldText } from './part-header.js'
import { parseMailDate } from './date.js'
import { parseMessageId, parseMessageIds } from './message-id.js'
import { writeBodyStructure } from './body-structure.js'
import { writeEnvelope } from './envelope.js'

/** To be raised whenever `buildMessageMeta` gives another result for any message: stored rows are then built anew. */
export const BUILDER_VERSION = 6

/**
 * @param {ParsedMessage} parsed
 * @returns {MessageMeta}
 */
export function buildMessageMeta({ root }) {
  const { header } = root
  const subject = fieldText(header, 'subject')
  const date = fieldText(header, 'date')
  const references = header.fields.get('references')
  return {
    builderVersion: BUILDER_VERSION,
    envelope: written((writer) => writeEnvelope(writer, header)),
    body: written((writer) => writeBodyStructure(writer, root, { isExtended: false })),
    bodyStructure: written((writer) => writeBodyStructure(writer, root, { isExtended: true })),
    partTree: encodePartTree(root),
    header: header.block,
    messageId: parseMessageId(fieldText(header, 'message-id') ?? ''),
    inReplyTo: parseMessageId(fieldText(header, 'in-reply-to') ?? ''),
    references: references === undefined ? [] : parseMessageIds(references.join(' ')),
    baseSubject:
      subject === null ? '' : baseSubject(decodeByteString(subject, MAX_BASE_SUBJECT_CHARACTERS)),
    sentDate: date === null ? null : parseMailDate(Buffer.from(date, 'latin1'))
  }
}

/**
 * @param {MessageMeta} meta
 * @returns {number} bytes that it holds in memory, about
 */
export function metaBytes({ envelope, body, bodyStructure, partTree, header }) {
  return (
    envelope.length + body.length + bodyStructure.length + partTree.length + (header?.length ?? 0)
  )
}

/**
 * @param {(writer: ByteWriter) => void} write
 * @returns {Buffer}
 */
function written(write) {
  const writer = new ByteWriter()
  write(writer)
  return writer.finish()
}
