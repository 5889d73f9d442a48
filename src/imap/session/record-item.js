/**
 * Items of a FETCH response that a message's record answers.
 */
import { emailIdOf, threadIdOf } from './object-id.js'

/** @import { MessageRecord } from '../../store/read-messages.js' */
/** @import { FetchWriter } from '../protocol/compile/fetch.js' */

/**
 * @param {FetchWriter} writer - within the message's response
 * @param {string} kind
 * @param {MessageRecord} record - read with what this kind needs
 * @param {string | null} preview
 */
export function writeRecordItem(writer, kind, record, preview) {
  switch (kind) {
    case 'INTERNALDATE':
      writer.internalDate(record.internalDate)
      break
    case 'SAVEDATE':
      writer.saveDate({ epochSeconds: Math.floor(record.savedAtMs / 1000), zoneMinutes: 0 })
      break
    case 'EMAILID':
      writer.emailId(emailIdOf(record.contentId))
      break
    case 'THREADID':
      writer.threadId(threadIdOf(record))
      break
    case 'RFC822.SIZE':
      writer.size(record.size)
      break
    case 'PREVIEW':
      writer.preview(preview)
      break
    case 'ENVELOPE':
      writer.structure(kind, requireRead(record.envelope))
      break
    case 'BODY':
      writer.structure(kind, requireRead(record.body))
      break
    case 'BODYSTRUCTURE':
      writer.structure(kind, requireRead(record.bodyStructure))
      break
    default:
      throw new Error(`no such FETCH item: ${kind}`)
  }
}

/**
 * @param {Buffer | undefined | null} bytes - what the store was to read of a message
 * @returns {Buffer}
 */
export function requireRead(bytes) {
  if (bytes == null) throw new Error('the store did not read what was asked for')
  return bytes
}
