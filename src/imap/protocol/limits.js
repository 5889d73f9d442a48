/**
 * Every limit of the protocol layer, with its reason. What a user may want to change (the size of a
 * message) comes from the configuration and is passed in.
 */

const KIB = 1024

/** @typedef {import('./receiver-limits.js').ReceiverLimits} ReceiverLimits */

export const LIMITS = Object.freeze({
  /**
   * Bytes of a command's lines before login: LOGIN and AUTHENTICATE need far less, but ID may bring 30 fields of 30
   * and 1,024 bytes (RFC 2971 §3.3), 32 KB with its quotes.
   */
  lineBytesBeforeLogin: 36 * KIB,
  /** Bytes of a command's lines after login: mbsync and mutt send UID sets of tens of kilobytes. */
  lineBytesAfterLogin: 64 * KIB,
  /** Bytes of the lines of one APPEND: flags and dates of ten thousand messages; Alpine sends a whole folder in one command. */
  appendLineBytesAfterLogin: 1024 * KIB,
  /** Bytes of one buffered literal before login: a user name or a password, nothing else. */
  literalBytesBeforeLogin: 4 * KIB,
  /** Bytes of one buffered literal after login: mailbox names, header names, search strings. */
  literalBytesAfterLogin: 64 * KIB,
  /** Bytes that one command may hold, lines and buffered literals together, before login. */
  commandBytesBeforeLogin: 40 * KIB,
  /** The same after login: one full line and one full literal. */
  commandBytesAfterLogin: 128 * KIB,
  /** Bytes of a refused non-synchronising literal that are read and dropped before login. */
  skipBytesBeforeLogin: 64 * KIB,
  /** Refused literals are skipped up to this many times the largest message; beyond that BYE is cheaper. */
  skipFactorAfterLogin: 4,
  /**
   * Tokens of a command before login. Each takes 100 to 200 bytes of memory, however short it is, for as long as a literal
   * behind them is waited for: 3 MB for a line of `""`. The longest command of a stranger's is an ID of 30 fields.
   */
  tokensBeforeLogin: 256,
  /** Levels of parentheses: real searches stay below ten; every level costs a frame in the readers above. */
  nesting: 50,
  /** Bytes of a tag: clients use below twenty, and the tag is echoed in every reply. */
  tagBytes: 128,
  /** Levels of OR and NOT in a search: clients chain OR once for each word or Message-ID. */
  searchDepth: 1000,
  /** Bytes of a mailbox name in UTF-8, whole path: what the widest clients and file systems take. */
  mailboxNameBytes: 1024,
  /** Bytes of a keyword: it is stored once for each account and sent with every FLAGS. */
  keywordBytes: 128,
  /** Fields of an ID command, RFC 2971 §3.3. */
  idFields: 30,
  /** Bytes of an ID field's name and of its value, RFC 2971 §3.3; longer ones are cut, they are only logged. */
  idNameBytes: 30,
  idValueBytes: 1024,
  /** Characters of a charset name: the longest registered one has 45. */
  charsetNameLength: 64
})

/**
 * The receiver's limits before login: no message literal, small everything.
 * @returns {ReceiverLimits}
 */
export function limitsBeforeLogin() {
  return {
    maxLineBytes: LIMITS.lineBytesBeforeLogin,
    maxLiteralBytes: LIMITS.literalBytesBeforeLogin,
    maxCommandBytes: LIMITS.commandBytesBeforeLogin,
    maxTokens: LIMITS.tokensBeforeLogin,
    maxNesting: LIMITS.nesting,
    maxMessageBytes: 0,
    maxSkipBytes: LIMITS.skipBytesBeforeLogin
  }
}

/**
 * The receiver's limits after login.
 * @param {number} maxMessageBytes - the largest message that APPEND takes, bytes, from the configuration
 * @returns {ReceiverLimits}
 */
export function limitsAfterLogin(maxMessageBytes) {
  return {
    maxLineBytes: LIMITS.lineBytesAfterLogin,
    maxAppendLineBytes: LIMITS.appendLineBytesAfterLogin,
    maxLiteralBytes: LIMITS.literalBytesAfterLogin,
    maxCommandBytes: LIMITS.commandBytesAfterLogin,
    // The length of the lines is bound enough: sessions of an account are counted.
    maxTokens: Infinity,
    maxNesting: LIMITS.nesting,
    maxMessageBytes,
    maxSkipBytes: Math.max(
      LIMITS.literalBytesAfterLogin,
      maxMessageBytes * LIMITS.skipFactorAfterLogin
    )
  }
}
