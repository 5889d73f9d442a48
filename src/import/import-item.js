/**
 * What every reader gives, whatever the format: messages one after another, each to be read as a stream.
 */

/** @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate */

/**
 * @typedef {object} ImportItem
 * @property {string} name - the message's place, for reports: file, or file and number
 * @property {string[] | null} importKeyParts - the same for this message in every run over the same source; null where its
 *   place there changes when another message is deleted: its number among those with the same bytes takes their place then
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
 * @property {number} position - grows while the items are read
 * @property {number} ignoredCount - files beside the messages that were left alone
 * @property {() => AsyncGenerator<ImportItem>} items - once; throws when the source itself fails
 */

/**
 * @param {number} epochMs
 * @returns {ZonedDate | null} null for a time that nobody set
 */
export function dateFromMs(epochMs) {
  if (!Number.isFinite(epochMs) || epochMs <= 0) return null
  return { epochSeconds: Math.floor(epochMs / 1000), zoneMinutes: 0 }
}
