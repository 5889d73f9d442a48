/**
 * Object identifiers, RFC 8474: a letter for the kind and the row's number, which is never given to another. A mailbox
 * keeps its own through every RENAME; messages of equal bytes share one, wherever in the account they lie. Threads have
 * none.
 */

const EMAIL_ID = /^M(0|[1-9]\d{0,15})$/

/**
 * @param {number} mailboxId - of the store
 * @returns {string} MAILBOXID, RFC 8474 §4
 */
export const mailboxIdOf = (mailboxId) => `F${mailboxId}`

/**
 * @param {number} contentId - of the store
 * @returns {string} EMAILID, RFC 8474 §5.1
 */
export const emailIdOf = (contentId) => `M${contentId}`

/**
 * @param {string} emailId - from a client
 * @returns {number | null} the content that it names; null when there can be none
 */
export function contentIdOf(emailId) {
  const contentId = Number(EMAIL_ID.exec(emailId)?.[1] ?? NaN)
  return Number.isSafeInteger(contentId) ? contentId : null
}
