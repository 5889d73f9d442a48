/**
 * What every reader gives, whatever the format: the messages one after another, each to be read as a stream.
 */

/** @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate */

/**
 * @typedef {object} ImportItem
 * @property {string} name - the message's place, for reports: file, or file and number
 * @property {string[] | null} importKeyParts - the same for this message in every run over the same source; null where the
 *   message's place changes when another is deleted: its number among messages with the same bytes is then used instead
 * @property {string[]} folder - the path below the chosen mailbox, mostly empty
 * @property {string[]} flags
 * @property {ZonedDate | null} internalDate - null when the format has none
 * @property {ZonedDate | null} fallbackDate - for a message without a date of its own
 * @property {boolean} hasFromLine - whether an mbox line may stand before the message
 * @property {number | null} sizeHint - bytes, null when unknown
 * @property {() => AsyncIterable<Buffer>} open - at most once, and before the next item is asked for
 */

/**
 * @typedef {object} ImportSource
 * @property {string} name - the file's or folder's own name
 * @property {'folder' | 'eml' | 'maildir' | 'mbox' | 'tar'} format
 * @property {'messages' | 'bytes'} unit - what total and position count
 * @property {number} total
 * @property {number} position - how far the items have been read
 * @property {number} ignoredCount - files beside the messages, which were passed over
 * @property {() => AsyncGenerator<ImportItem>} items - to be called once; throws when the source itself fails
 */

/**
 * @param {number} epochMs
 * @returns {ZonedDate | null} null for a time that nobody set
 */
export function dateFromMs(epochMs) {
  if (!Number.isFinite(epochMs) || epochMs <= 0) return null
  return { epochSeconds: Math.floor(epochMs / 1000), zoneMinutes: 0 }
}
