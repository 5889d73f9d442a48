/**
 * The one error that this layer throws for input of a client. It is no MailError: it says what is wrong with
 * bytes, and the session turns it into BAD or NO by the table below.
 */

/**
 * @typedef {object} SyntaxFailureEntry
 * @property {'BAD' | 'NO'} status - the condition of the tagged reply, RFC 9051 §7.1
 * @property {string | null} responseCode - the response code's name, RFC 9051 §7.1 and RFC 5530 §3
 */

/**
 * How each code is answered. A limit is the client's fault only in part, so it is NO with a reason that
 * the user can read; bad grammar is BAD, RFC 9051 §7.1.3.
 * @satisfies {Record<string, SyntaxFailureEntry>}
 */
export const SYNTAX_FAILURE_TABLE = Object.freeze({
  BAD_SYNTAX: { status: 'BAD', responseCode: 'CLIENTBUG' },
  UNKNOWN_COMMAND: { status: 'BAD', responseCode: 'CLIENTBUG' },
  TOO_LONG: { status: 'BAD', responseCode: 'LIMIT' },
  TOO_BIG: { status: 'NO', responseCode: 'TOOBIG' },
  TOO_DEEP: { status: 'BAD', responseCode: 'LIMIT' },
  BAD_CHARSET: { status: 'NO', responseCode: 'BADCHARSET' },
  BAD_MAILBOX_NAME: { status: 'NO', responseCode: 'CANNOT' },
  CANCELLED: { status: 'BAD', responseCode: null }
})

/** @typedef {keyof typeof SYNTAX_FAILURE_TABLE} SyntaxFailureCode */

/** A command that cannot be understood, or that is over a limit. */
export class SyntaxFailure extends Error {
  /**
   * @param {SyntaxFailureCode} code
   * @param {string} text - the sentence for the client: plain ASCII, quotes nothing that the client sent
   */
  constructor(code, text) {
    super(text)
    this.name = 'SyntaxFailure'
    /** @type {SyntaxFailureCode} */
    this.code = code
    /** @type {string} */
    this.text = text
  }

  /** @returns {SyntaxFailureEntry} how the session answers it */
  get reply() {
    return SYNTAX_FAILURE_TABLE[this.code]
  }
}

/**
 * @param {string} text - what is wrong, for the client
 * @returns {SyntaxFailure} of code BAD_SYNTAX
 */
export function badSyntax(text) {
  return new SyntaxFailure('BAD_SYNTAX', text)
}
