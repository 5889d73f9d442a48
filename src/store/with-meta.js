/**
 * SQL for what stands in the rows of messages and of what was computed from their contents.
 */
import { BUILDER_VERSION } from '../mime/message-meta.js'

/** What of `message_meta d` is of use; other rows must be made again. */
export const IS_FRESH = `d.builder_version >= ${BUILDER_VERSION}`

export const JOIN_META = 'LEFT JOIN message_meta d ON d.content_id = m.content_id'

/** Rows of messages, each with that. */
export const WITH_META = `FROM messages m ${JOIN_META}`

/** An INTERNALDATE as it is written, seconds since 1970 in its own zone. */
export const LOCAL_ARRIVAL = '(m.internal_date + m.internal_zone * 60)'

/** The same of the Date header; NULL where there is none. */
export const LOCAL_SENT = '(d.sent_at + coalesce(d.sent_zone, 0) * 60)'
