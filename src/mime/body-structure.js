/**
 * BODY and BODYSTRUCTURE as wire bytes: RFC 9051 §7.5.2, RFC 3501 §7.4.2. The nesting of parts is bounded
 * (MAX_NESTING), so that recursion is.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 * @typedef {import('./byte-writer.js').ByteWriter} ByteWriter
 * @typedef {import('./part.js').Part} Part
 *
 * @typedef {import('./envelope.js').AddressBudget & { isExtended: boolean }} Form - `isExtended`: true for
 *   BODYSTRUCTURE, false for BODY
 */
import { imapString } from './byte-writer.js'
import { hasParameter } from './content-type.js'
import { MAX_SHOWN_NESTING, MAX_STRUCTURE_ADDRESSES } from './limits.js'
import { writeEnvelope } from './envelope.js'

/**
 * @param {ByteWriter} writer
 * @param {Part} part - the root of a message
 * @param {{ isExtended: boolean }} form - true for BODYSTRUCTURE, false for BODY
 */
export function writeBodyStructure(writer, part, { isExtended }) {
  writePart(writer, part, { isExtended, addressesLeft: MAX_STRUCTURE_ADDRESSES }, 1)
}

/**
 * @param {ByteWriter} writer
 * @param {Part} part
 * @param {Form} form
 * @param {number} level - 1 for the root
 */
function writePart(writer, part, form, level) {
  const isContainer = part.type === 'multipart' || messageInside(part) !== undefined
  if (isContainer && level >= MAX_SHOWN_NESTING) writeOpaque(writer, part, form)
  else if (part.type === 'multipart') writeMultipart(writer, part, form, level)
  else writeSinglePart(writer, part, form, level)
}

/**
 * Writes a part as one piece, whatever is in it.
 * @param {ByteWriter} writer
 * @param {Part} part
 * @param {Form} form
 */
function writeOpaque(writer, part, form) {
  const size = part.bodyEnd - part.headerEnd
  const extension = form.isExtended ? ' NIL NIL NIL NIL' : ''
  writer.raw(`("application" "octet-stream" NIL NIL NIL "7bit" ${size}${extension})`)
}

/**
 * `(part part … "subtype" [(params) dsp lang loc])`
 * @param {ByteWriter} writer
 * @param {Part} part
 * @param {Form} form
 * @param {number} level
 */
function writeMultipart(writer, part, form, level) {
  writer.raw('(')
  for (const child of part.children) writePart(writer, child, form, level + 1)
  writer.raw(' ')
  writer.string(part.subtypeAsWritten)
  if (form.isExtended) {
    writer.raw(' ')
    writeParams(writer, part.params)
    writeExtension(writer, part)
  }
  writer.raw(')')
}

/**
 * `("type" "subtype" (params) id description "encoding" octets [envelope body] [lines] [md5 dsp lang loc])`
 * @param {ByteWriter} writer
 * @param {Part} part
 * @param {Form} form
 * @param {number} level
 */
function writeSinglePart(writer, part, form, level) {
  writer.raw('(')
  writer.string(part.typeAsWritten)
  writer.raw(' ')
  writer.string(part.subtypeAsWritten)
  writer.raw(' ')
  writeParams(writer, part.type === 'text' ? withCharset(part.params) : part.params)
  writer.raw(' ')
  writer.nstring(part.id)
  writer.raw(' ')
  writer.nstring(part.description)
  writer.raw(' ')
  writer.string(part.encodingAsWritten)
  writer.raw(` ${part.bodyEnd - part.headerEnd}`)
  const message = messageInside(part)
  if (message) {
    writer.raw(' ')
    writeEnvelope(writer, message.header, form)
    writer.raw(' ')
    writePart(writer, message, form, level + 1)
  }
  if (message || part.type === 'text') writer.raw(` ${part.lines}`)
  if (form.isExtended && !isUnextended(part)) {
    writer.raw(' ')
    writer.nstring(part.md5)
    writeExtension(writer, part)
  }
  writer.raw(')')
}

/**
 * go-imap looks for an envelope in message/global unless the part's structure ends with its size, and gives up the connection.
 * Bounces of Postfix have such parts, with nothing that would have to be told behind the size.
 * @param {Part} part
 * @returns {boolean} whether the extension data are left out, as RFC 3501 §7.4.2 and RFC 9051 §7.5.2 permit
 */
function isUnextended({ isMessage, subtype, md5, disposition, language, location }) {
  const isTold = md5 !== null || disposition !== null || language.length > 0 || location !== null
  return isMessage && subtype === 'global' && !isTold
}

/**
 * RFC 9051 has envelope and structure for message/global as well, RFC 3501 for message/rfc822 alone. A client of the older
 * grammar cannot read the longer form, nor can imapflow 2.1, which enables IMAP4rev2. Dovecot sends the shorter form to all,
 * so all clients can read that.
 * @param {Part} part
 * @returns {Part | undefined} the message whose structure is shown inside this part
 */
function messageInside(part) {
  return part.isMessage && part.subtype === 'rfc822' ? part.children[0] : undefined
}

/**
 * ` dsp lang loc`, which single parts and multiparts have alike.
 * @param {ByteWriter} writer
 * @param {Part} part
 */
function writeExtension(writer, { disposition, language, location }) {
  if (disposition) {
    writer.raw(' (')
    writer.string(disposition.type)
    writer.raw(' ')
    writeParams(writer, disposition.params)
    writer.raw(')')
  } else writer.raw(' NIL')
  writer.raw(' ')
  if (language.length > 1) writer.raw(`(${language.map(imapString).join(' ')})`)
  else writer.nstring(language[0])
  writer.raw(' ')
  writer.nstring(location)
}

/**
 * @param {ByteWriter} writer
 * @param {[ByteString, ByteString][]} params
 */
function writeParams(writer, params) {
  if (params.length === 0) {
    writer.raw('NIL')
    return
  }
  // Written as one text: a thousand parts may have a hundred parameters each.
  let text = '('
  for (const [name, value] of params)
    text += `${text === '(' ? '' : ' '}${imapString(name)} ${imapString(value)}`
  writer.raw(`${text})`)
}

/**
 * RFC 2045 §5.2: text without a charset is us-ascii; other servers say so, and clients count on it.
 * @param {[ByteString, ByteString][]} params
 * @returns {[ByteString, ByteString][]}
 */
function withCharset(params) {
  const hasCharset = hasParameter(params, 'charset') || hasParameter(params, 'charset*')
  return hasCharset ? params : [...params, ['charset', 'us-ascii']]
}
