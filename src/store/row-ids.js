/**
 * The keys of rows that are clustered under something: a message under its mailbox, a chunk under its content.
 */

/** UIDs have 32 bits. */
const UID_SPAN = 2 ** 32

/** Highest UID there is (RFC 9051 §2.3.1.1). */
export const MAX_UID = UID_SPAN - 1

/**
 * Highest UID that a message keeps of the place that it comes from: above it a billion are left for mail that comes, and once they
 * are used up a mailbox takes no more.
 */
export const MAX_KEPT_UID = UID_SPAN - 2 ** 30 - 1

/** Chunks of one content: 2 GiB at 32 KiB each. */
const CHUNK_SPAN = 65_536

/**
 * @param {number} mailboxId
 * @param {number} uid
 * @returns {number} messages.id
 */
export const messageRowId = (mailboxId, uid) => mailboxId * UID_SPAN + uid

/**
 * @param {number} rowId - messages.id
 * @returns {number}
 */
export const uidOfRow = (rowId) => rowId % UID_SPAN

/**
 * @param {number} contentId
 * @param {number} sequence - number of the chunk, from 0
 * @returns {number} content_chunks.id
 */
export const chunkRowId = (contentId, sequence) => contentId * CHUNK_SPAN + sequence

/**
 * @param {number} rowId - content_chunks.id
 * @returns {number} number of the chunk, from 0
 */
export const sequenceOfChunk = (rowId) => rowId % CHUNK_SPAN

/** Highest number of a chunk. */
export const MAX_CHUNK = CHUNK_SPAN - 1
