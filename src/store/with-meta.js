/**
 * SQL for what stands in the rows of messages and of what was computed from their contents.
 */
import { BUILDER_VERSION } from '../mime/message-meta.js'

/** What of `message_meta d` is of use; other rows must be made again. */
export const IS_FRESH = `d.builder_version >= ${BUILDER_VERSION}`

export const JOIN_META = 'LEFT JOIN message_meta d ON d.content_id = m.content_id'

/** Rows of messages, each with that. */
export const WITH_META = `FROM messages m ${JOIN_META}`
