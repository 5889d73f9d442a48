/**
 * The extensions that a client has enabled for the rest of its session, by ENABLE (RFC 5161) or by a command that implies it:
 * until then, every answer is one of RFC 3501 alone.
 */

/** The extensions enabled in one session. */
export class Enabled {
  /** IMAP4rev2 (RFC 9051 §6.3.1). */
  isRev2 = false
  /** UTF8=ACCEPT (RFC 6855 §3). */
  acceptsUtf8 = false
  /** CONDSTORE (RFC 7162 §3.1). */
  isCondstore = false
  /** QRESYNC: VANISHED instead of EXPUNGE (RFC 7162 §3.2.3). */
  isQresync = false

  /** @returns {boolean} whether mailbox names and quoted strings are UTF-8 (RFC 6855 §3, RFC 9051 §4.3 and §5.1) */
  get isUtf8() {
    return this.acceptsUtf8 || this.isRev2
  }

  /** @returns {boolean} whether a FETCH that tells flags names the UID unasked (RFC 7162 §3.2.4, RFC 9051 §7.5.2) */
  get tellsUids() {
    return this.isCondstore || this.isRev2
  }
}
