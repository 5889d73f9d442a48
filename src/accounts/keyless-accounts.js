/**
 * Accounts that nothing opens: each has a password and a recovery code from its beginning, and keeps them.
 *
 * @param {import('better-sqlite3-multiple-ciphers').Database} db - a directory
 * @returns {string[]} ids of accounts without any credential
 */
export const keylessAccounts = (db) =>
  /** @type {string[]} */ (
    db
      .prepare('SELECT id FROM accounts WHERE id NOT IN (SELECT account_id FROM credentials)')
      .pluck()
      .all()
  )
