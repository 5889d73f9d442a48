/**
 * Every bound of the MIME reader, with its reason. Beyond a bound a message is still stored and fetched byte for
 * byte; only what is derived from it (ENVELOPE, BODYSTRUCTURE, sections) shows less of it.
 */

/** At most so many levels of parts are read; the deepest real mail has about ten. Parts below are opaque. */
export const MAX_NESTING = 50

/**
 * BODY and BODYSTRUCTURE show at most so many levels of parts; sections and search reach all of MAX_NESTING. A client that
 * refuses deep lists loses the whole FETCH: imapflow allows 25 parentheses, some of them around and inside the parts.
 */
export const MAX_SHOWN_NESTING = 20

/** A message has at most so many parts; the largest digests hold a few hundred. The last part takes all the rest. */
export const MAX_PARTS = 1_000

/** At most so many bytes of header fields are kept while one message is read, for all of its parts together. */
export const MAX_HEADER_BYTES = 1_048_576

/** At most so many bytes of one header block are looked at for fields; the rest is passed over. */
export const MAX_HEADER_BLOCK_BYTES = 1_048_576

/** The fields of one part take at most so many of MAX_HEADER_BYTES, so that a nested message finds room for its own. */
export const MAX_PART_HEADER_BYTES = 524_288

/** At most so many bytes are kept of a field that describes a message (From, To, Subject …): some thousand addresses. */
export const MAX_ENVELOPE_FIELD_BYTES = 262_144

/** At most so many bytes are kept of a Content- field: boundary and file names need hundreds at most. */
export const MAX_STRUCTURE_FIELD_BYTES = 16_384

/** A top header block of at most so many bytes is kept whole beside the message: 99.99% of mail is below. */
export const MAX_CACHED_HEADER_BYTES = 262_144

/** At most so many addresses of one field are shown: one-letter ones must not swell an ENVELOPE to many times the header. */
export const MAX_ADDRESSES = 5_000

/**
 * BODYSTRUCTURE shows at most so many addresses for all the messages inside a message: a hundred messages with such lists
 * are one megabyte, and their structure would be 24. Large digests have some thousand.
 */
export const MAX_STRUCTURE_ADDRESSES = 20_000

/** At most so many parameters are read of one Content- field. */
export const MAX_PARAMETERS = 100

/** A boundary has at most so many bytes: RFC 2046 §5.1.1 allows 70 characters; some generators write a few hundred. */
export const MAX_BOUNDARY_BYTES = 1_000

/** A delimiter line has at most so many bytes: boundary, dashes, and padding that gateways add. */
export const MAX_DELIMITER_LINE_BYTES = 1_100

/** A message without a single LF in its first so many bytes, but with CR, has its lines ended by CR alone. */
export const LINE_END_PROBE_BYTES = 65_536

/** At most so many message identifiers of References are kept; threads as long as this exist in mailing lists only. */
export const MAX_REFERENCES = 500

/** A message identifier has at most so many bytes, because no line has more (RFC 5322 §2.1.1). */
export const MAX_MESSAGE_ID_BYTES = 998

/** At most so many characters of a subject take part in sorting and threading. */
export const MAX_BASE_SUBJECT_CHARACTERS = 1_000

/** At most so many bytes of one part are decoded for search. */
export const MAX_TEXT_PART_BYTES = 16_777_216

/** An IMAP string of more bytes goes out as a literal: some clients read quoted strings into small buffers. */
export const MAX_QUOTED_BYTES = 1_024
