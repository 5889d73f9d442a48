/**
 * A part of a message: where it lies, and what its header says it is. RFC 2045, RFC 2046.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 * @typedef {import('./part-header.js').PartHeader} PartHeader
 *
 * @typedef {object} Disposition
 * @property {ByteString} type - as written, but without quotes, which some programs put around it
 * @property {[ByteString, ByteString][]} params
 *
 * @typedef {object} Part
 * @property {number} headerStart - offset in the message of the first byte of the part's header
 * @property {number} headerEnd - offset after the blank line: where the body begins
 * @property {number} bodyEnd - offset after the body; the line end before a delimiter belongs to the delimiter
 * @property {number} lines - line ends in the body
 * @property {PartHeader} header
 * @property {string} type - media type, lower case
 * @property {string} subtype - lower case
 * @property {ByteString} typeAsWritten
 * @property {ByteString} subtypeAsWritten
 * @property {[ByteString, ByteString][]} params - of Content-Type, as written; see content-type.js
 * @property {ByteString | null} id - Content-ID
 * @property {ByteString | null} description - Content-Description
 * @property {string} encoding - Content-Transfer-Encoding, lower case, `7bit` by default
 * @property {ByteString} encodingAsWritten
 * @property {ByteString | null} md5 - Content-MD5
 * @property {Disposition | null} disposition - Content-Disposition
 * @property {ByteString[]} language - Content-Language
 * @property {ByteString | null} location - Content-Location
 * @property {Part[]} children - parts of a multipart (never none), or the one message inside a message part
 * @property {boolean} isMessage - message/rfc822 or message/global: `children[0]` is that message's root
 */
import { findParameter, parseContentType, parseStructured } from './content-type.js'
import { MAX_BOUNDARY_BYTES } from './limits.js'
import { EMPTY_HEADER, fieldText } from './part-header.js'

/** The type of a body without a (readable) Content-Type, RFC 2045 §5.2. */
const DEFAULT_TEXT = Object.freeze({
  type: 'text',
  subtype: 'plain',
  params: /** @type {[ByteString, ByteString][]} */ ([['charset', 'us-ascii']])
})

/** The type of a part inside multipart/digest without a Content-Type, RFC 2046 §5.1.5. */
const DEFAULT_IN_DIGEST = Object.freeze({
  type: 'message',
  subtype: 'rfc822',
  params: /** @type {[ByteString, ByteString][]} */ ([])
})

/**
 * A part of which only the place is known yet: text until a header says otherwise.
 * @param {number} headerStart
 * @returns {Part}
 */
export function newPart(headerStart) {
  return {
    headerStart,
    headerEnd: headerStart,
    bodyEnd: headerStart,
    lines: 0,
    header: EMPTY_HEADER,
    type: 'text',
    subtype: 'plain',
    typeAsWritten: 'text',
    subtypeAsWritten: 'plain',
    params: DEFAULT_TEXT.params,
    id: null,
    description: null,
    encoding: '7bit',
    encodingAsWritten: '7bit',
    md5: null,
    disposition: null,
    language: [],
    location: null,
    children: [],
    isMessage: false
  }
}

/**
 * Describes a part by its header.
 * @param {Part} part
 * @param {PartHeader} header
 * @param {boolean} isInDigest - whether the part lies directly in a multipart/digest
 */
export function describePart(part, header, isInDigest) {
  part.header = header
  const contentType = header.fields.get('content-type')?.[0]
  const fallback =
    contentType === undefined ? (isInDigest ? DEFAULT_IN_DIGEST : DEFAULT_TEXT) : DEFAULT_TEXT
  const media = (contentType !== undefined && parseContentType(contentType)) || fallback
  setMedia(part, media)
  if (header.fields.size === 0) return
  part.id = fieldText(header, 'content-id')
  part.description = fieldText(header, 'content-description')
  part.md5 = fieldText(header, 'content-md5')
  part.location = fieldText(header, 'content-location')?.replace(/[ \t]+/g, '') ?? null
  const encoding = header.fields.get('content-transfer-encoding')?.[0]
  // The encoding is one token (RFC 2045 §6.1); some programs write it with a comment, a semicolon or quotes.
  const token = encoding === undefined ? '' : parseStructured(encoding).value.replace(/["']/g, '')
  const name = /^[!-~]+/.exec(token)?.[0]
  if (name !== undefined) {
    part.encoding = name.toLowerCase()
    part.encodingAsWritten = name
  }
  const disposition = header.fields.get('content-disposition')?.[0]
  if (disposition !== undefined) {
    const { value, params } = parseStructured(disposition)
    const type = value.replace(/["']/g, '')
    if (type !== '') part.disposition = { type, params }
  }
  const language = fieldText(header, 'content-language')
  if (language !== null)
    part.language = language.replace(/\([^()]*\)/g, '').match(/[A-Za-z0-9-]+/g) ?? []
}

/**
 * Makes a part that lies too deep to be taken apart one opaque piece.
 * @param {Part} part
 */
export function makeOpaque(part) {
  setMedia(part, { type: 'application', subtype: 'octet-stream', params: [] })
}

/**
 * @param {Part} part
 * @param {{ type: ByteString, subtype: ByteString, params: [ByteString, ByteString][] }} media
 */
function setMedia(part, { type, subtype, params }) {
  part.typeAsWritten = type
  part.subtypeAsWritten = subtype
  part.type = type.toLowerCase()
  part.subtype = subtype.toLowerCase()
  part.params = params
  part.isMessage =
    part.type === 'message' && (part.subtype === 'rfc822' || part.subtype === 'global')
}

/**
 * A multipart without any part is against every grammar (RFC 9051 §9 `body-type-mpart`): it gets one text part that
 * shows its whole body.
 * @param {Part} multipart
 * @returns {Part}
 */
export function wholeBody(multipart) {
  const part = newPart(multipart.headerEnd)
  part.bodyEnd = multipart.bodyEnd
  part.lines = multipart.lines
  return part
}

/**
 * @param {[ByteString, ByteString][]} params - of the Content-Type of a multipart
 * @returns {string | null} its boundary as a byte string, trailing white space removed
 */
export function boundaryIn(params) {
  const written = params.find(([name]) => name.toLowerCase() === 'boundary')?.[1]
  const boundary = (written ?? findParameter(params, 'boundary') ?? '').trimEnd()
  return boundary === '' || boundary.length > MAX_BOUNDARY_BYTES ? null : boundary
}
