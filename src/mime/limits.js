/**
 * Every bound of the MIME reader, with its reason. Beyond a bound a message is still stored and fetched byte for
 * byte; only what is derived from it (ENVELOPE, BODYSTRUCTURE, sections) shows less of it.
 */

/** Levels of nested parts; the deepest real mail has about ten. Parts below are opaque. */
export const MAX_NESTING = 50

/**
 * Levels of nested parts that BODY and BODYSTRUCTURE show; sections and search reach all of MAX_NESTING. A client that
 * refuses deep lists loses the whole FETCH: imapflow allows 25 parentheses, some of them around and inside the parts.
 */
export const MAX_SHOWN_NESTING = 20

/** Parts in one message; the largest digests hold a few hundred. The last part takes all the rest. */
export const MAX_PARTS = 1_000

/** Bytes of header fields kept while one message is read, all of its parts together. */
export const MAX_HEADER_BYTES = 1_048_576

/** Bytes of one header block that are looked at for fields; the rest is passed over. */
export const MAX_HEADER_BLOCK_BYTES = 1_048_576

/** What the fields of one part may take of MAX_HEADER_BYTES, so that a nested message finds room for its own. */
export const MAX_PART_HEADER_BYTES = 524_288

/** Bytes of one field that describes a message (From, To, Subject …): some thousand addresses. */
export const MAX_ENVELOPE_FIELD_BYTES = 262_144

/** Bytes of one Content- field: boundary and file names need hundreds at most. */
export const MAX_STRUCTURE_FIELD_BYTES = 16_384

/** The top header block is kept whole beside the message up to this size: 99.99% of mail is below. */
export const MAX_CACHED_HEADER_BYTES = 262_144

/** Addresses shown of one field; a list of one-letter addresses must not swell an ENVELOPE to many times the header. */
export const MAX_ADDRESSES = 5_000

/**
 * Addresses shown in BODYSTRUCTURE of all the messages inside a message: a hundred messages with such lists are one
 * megabyte, and their structure would be 24. Large digests have some thousand.
 */
export const MAX_STRUCTURE_ADDRESSES = 20_000

/** Parameters read of one Content- field. */
export const MAX_PARAMETERS = 100

/** RFC 2046 §5.1.1 allows 70 characters; some generators write a few hundred. */
export const MAX_BOUNDARY_BYTES = 1_000

/** A line that is longer cannot be a delimiter: boundary, dashes, and padding that gateways add. */
export const MAX_DELIMITER_LINE_BYTES = 1_100

/** A message without a single LF up to here, but with CR, has its lines ended by CR alone. */
export const LINE_END_PROBE_BYTES = 65_536

/** Message identifiers kept of References; threads as long as this exist in mailing lists only. */
export const MAX_REFERENCES = 500

/** RFC 5322 §2.1.1: no line, hence no message identifier, is longer. */
export const MAX_MESSAGE_ID_BYTES = 998

/** Characters of a subject that take part in sorting and threading. */
export const MAX_BASE_SUBJECT_CHARACTERS = 1_000

/** Bytes of one part that are decoded for search. */
export const MAX_TEXT_PART_BYTES = 16_777_216

/** An IMAP string that is longer goes out as a literal: some clients read quoted strings into small buffers. */
export const MAX_QUOTED_BYTES = 1_024
