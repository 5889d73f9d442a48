/**
 * The one error type that layers throw to each other, and the table of its codes. What a client or an
 * operator reads comes from this table; `detail` and `cause` are for the log alone.
 */

/**
 * @typedef {object} ErrorEntry
 * @property {boolean} temporary - whether the same request may succeed later without anybody's help
 * @property {string} text - the public sentence; never names a mailbox, an address or a key
 */

/** @satisfies {Record<string, ErrorEntry>} */
export const ERROR_TABLE = Object.freeze({
  // Mailboxes and messages
  MAILBOX_NOT_FOUND: { temporary: false, text: 'No such mailbox' },
  MAILBOX_EXISTS: { temporary: false, text: 'A mailbox of that name exists already' },
  MAILBOX_HAS_CHILDREN: { temporary: false, text: 'The mailbox has mailboxes below it' },
  CANNOT: { temporary: false, text: 'That cannot be done to this mailbox' },
  USE_REFUSED: { temporary: false, text: 'No mailbox can be made for that use' },
  MESSAGE_GONE: { temporary: false, text: 'The message was expunged meanwhile' },
  READ_ONLY: { temporary: false, text: 'The mailbox or the credential is read-only' },
  NO_PERMISSION: { temporary: false, text: 'This credential may only read' },
  OVER_QUOTA: { temporary: false, text: 'The mailbox is full' },
  TOO_BIG: { temporary: false, text: 'The message is larger than this server accepts' },
  LIMIT: { temporary: false, text: 'A limit of this server is reached' },
  MESSAGE_EMPTY: { temporary: false, text: 'The message is empty' },
  FORMAT_UNKNOWN: {
    temporary: false,
    text: 'That is none of the formats that can be imported'
  },
  EXPORT_REFUSED: { temporary: false, text: 'Nothing is written over what is there' },
  NOT_PORTABLE: { temporary: false, text: 'That is no portable mailbox, or it is damaged' },
  UNKNOWN_TRANSFER_ENCODING: {
    temporary: false,
    text: 'The content transfer encoding is not known'
  },
  // Accounts and keys
  AUTHENTICATION_FAILED: { temporary: false, text: 'Authentication failed' },
  THROTTLED: { temporary: true, text: 'Too many attempts, try again later' },
  ACCOUNT_NOT_FOUND: { temporary: false, text: 'No such account' },
  ACCOUNT_EXISTS: { temporary: false, text: 'An account of that address exists already' },
  ACCOUNT_DISABLED: { temporary: false, text: 'The account is disabled' },
  CREDENTIAL_NOT_FOUND: { temporary: false, text: 'No such credential' },
  TENANT_NOT_FOUND: { temporary: false, text: 'No such tenant' },
  TENANT_EXISTS: { temporary: false, text: 'A tenant of that name exists already' },
  TENANT_IN_USE: { temporary: false, text: 'The tenant still has domains or accounts' },
  ADDRESS_INVALID: { temporary: false, text: 'That is not a valid mail address' },
  PASSWORD_REFUSED: { temporary: false, text: 'That cannot be used as a password' },
  LABEL_REFUSED: {
    temporary: false,
    text: 'A name cannot have control characters in it, such as tabs or line breaks'
  },
  MECHANISM_UNKNOWN: { temporary: false, text: 'The authentication mechanism is not supported' },
  TLS_REQUIRED: { temporary: false, text: 'Log in after STARTTLS, or on the TLS port' },
  KEY_REJECTED: { temporary: false, text: 'The key does not open this file' },
  KEY_UNAVAILABLE: { temporary: true, text: 'The mailbox is locked' },
  PEPPER_MISSING: { temporary: false, text: 'The pepper that these credentials need is missing' },
  // Files and machine
  ACCOUNT_DAMAGED: { temporary: false, text: 'The mailbox file is damaged' },
  KEYS_CONTRADICT: {
    temporary: false,
    text: 'The keys of the account contradict each other in the directory'
  },
  FILE_REFUSED: {
    temporary: true,
    text: 'The system does not let the server have a file of its own'
  },
  FILE_TOO_NEW: {
    temporary: false,
    text: 'The file was written by a newer version of this program'
  },
  SCHEMA_MISMATCH: {
    temporary: false,
    text: 'The file is not laid out as this program expects'
  },
  DIRECTORY_MISSING: {
    temporary: false,
    text: 'The directory of these mailboxes is missing'
  },
  DIRECTORY_DAMAGED: {
    temporary: false,
    text: 'The directory of accounts is damaged'
  },
  BUSY: { temporary: true, text: 'The mailbox is busy, try again' },
  DISK_FULL: { temporary: true, text: 'There is no room on the disk' },
  NOT_DURABLE: { temporary: true, text: 'The disk refused to store the change' },
  SHUTTING_DOWN: { temporary: true, text: 'The server is shutting down' },
  OVERLOADED: { temporary: true, text: 'The server is busy beyond its means, come back later' },
  SEAL_FAILED: { temporary: true, text: 'The message could not be sealed' },
  UNSEAL_FAILED: { temporary: false, text: 'The sealed message does not open' },
  MESSAGE_FAULT: { temporary: false, text: 'The program fails at this message' },
  // Backups
  BACKUP_NOT_READY: { temporary: false, text: 'Backups are not ready here' },
  BACKUP_EXISTS: { temporary: false, text: 'Backups are set up already' },
  BACKUP_MISSING: { temporary: false, text: 'There is no such backup' },
  BACKUP_DAMAGED: { temporary: false, text: 'The backup is damaged' },
  BACKUP_UNREACHABLE: { temporary: true, text: 'The place of the backups cannot be reached' },
  SCRATCH_FULL: {
    temporary: true,
    text: 'There is no room for the mailbox, or for what is new of it, in the scratch folder'
  },
  BACKUP_RUNNING: {
    temporary: true,
    text: 'A backup or a restore is running on this host already'
  },
  RECOVERY_KEY_REJECTED: {
    temporary: false,
    text: 'The recovery key does not open this backup'
  },
  RESTORE_REFUSED: { temporary: false, text: 'That cannot be restored there' },
  CONFIG_INVALID: { temporary: false, text: 'The configuration is not valid' },
  ADDRESS_IN_USE: { temporary: false, text: 'Another program listens there' }
})

/** @typedef {keyof typeof ERROR_TABLE} ErrorCode */

/** An error of this program's own, with a code of ERROR_TABLE. */
export class MailError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {{ detail?: string, cause?: unknown }} [options] - `detail` is for the log, never for the wire
   */
  constructor(code, { detail, cause } = {}) {
    super(ERROR_TABLE[code].text, cause === undefined ? undefined : { cause })
    this.name = 'MailError'
    /** @type {ErrorCode} */
    this.code = code
    /** @type {boolean} */
    this.temporary = ERROR_TABLE[code].temporary
    /** @type {string | undefined} */
    this.detail = detail
  }
}

/**
 * @param {unknown} error
 * @param {ErrorCode} code
 * @returns {error is MailError}
 */
export function isMailError(error, code) {
  return error instanceof MailError && error.code === code
}
