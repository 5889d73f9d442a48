/**
 * Object identifiers, RFC 8474: a letter for the kind and, for mailboxes and messages, the row's number, which is never given to
 * another. A mailbox keeps its own through every RENAME; messages of equal bytes share one, wherever in the account they lie.
 *
 * A thread is named by the message that began it, as each of its messages says by itself: so the identifier is the same in all
 * mailboxes, never changes, and none is kept. NIL for all would be legal (§5.2), but MailKit and imapflow 1.3 take it for a
 * fault and show no message.
 */
import { hash } from 'node:crypto'

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

/** Characters of a digest in base64url: 132 bits. */
const DIGEST_CHARACTERS = 22
const THREAD_ID = /^T(0|[1-9]\d{0,15}|[A-Za-z0-9_-]{22})$/

/**
 * @param {object} message
 * @param {string | null} [message.threadRoot] - identifier of the message that began its thread; null: it names none
 * @param {number} message.contentId - of the store: it is alone in its thread then
 * @returns {string} THREADID, RFC 8474 §5.2
 */
export function threadIdOf({ threadRoot = null, contentId }) {
  if (threadRoot === null) return `T${contentId}`
  return `T${hash('sha256', threadRoot, 'base64url').slice(0, DIGEST_CHARACTERS)}`
}

/**
 * @param {string} id - from a client
 * @returns {boolean} false: no thread has it
 */
export const mayBeThreadId = (id) => THREAD_ID.test(id)
