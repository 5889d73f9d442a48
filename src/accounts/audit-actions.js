/**
 * All actions of the audit log, as docs/admin.md explains them. Whoever asks for any other has mistyped it: an empty answer
 * would look like a quiet night.
 */

export const AUDIT_ACTIONS = /** @type {const} */ ([
  'login',
  'login-failed',
  'login-throttled',
  'page-login',
  'session-end',
  'mailbox-download',
  'password-change',
  'recovery-code-create',
  'app-password-create',
  'app-password-revoke',
  'credential-raised',
  'account-create',
  'account-set',
  'account-delete',
  'alias-add',
  'alias-remove',
  'account-reset',
  'account-rekey',
  'rekey-finished',
  'rekey-forgotten',
  'tenant-create',
  'tenant-set',
  'tenant-delete',
  'domain-assign',
  'token-create',
  'token-revoke',
  'api-write',
  'backup',
  'restore',
  'restore-as',
  'restore-deleted',
  'restore-switched',
  'restore-checked',
  'account-repair',
  'spool-set-aside',
  'spool-retry',
  'mailbox-alert',
  'key-alarm',
  'audit-overflow'
])

/** @typedef {(typeof AUDIT_ACTIONS)[number]} AuditAction */

/**
 * @param {string} name
 * @returns {name is AuditAction}
 */
export const isAuditAction = (name) => AUDIT_ACTIONS.some((action) => action === name)
