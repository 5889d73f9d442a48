/**
 * Another writer of a mailbox file, for tests of what waits for one.
 */
import { join } from 'node:path'
import { deriveDatabaseKey } from '../../src/crypto/key-derivation.js'
import { openEncryptedDatabase } from '../../src/database/open.js'

/**
 * @param {import('../../src/accounts/directory-port.js').Account} account
 * @param {import('../../src/crypto/secret-buffer.js').SecretBuffer} masterKey - disposed of
 * @returns {() => void} lets others write again
 */
export function lockWriters({ folder, cipher }, masterKey) {
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  const { db } = openEncryptedDatabase({ path: join(folder, 'mail.db'), key, cipher })
  db.exec('BEGIN IMMEDIATE')
  return () => {
    db.exec('ROLLBACK')
    db.close()
  }
}

/**
 * @param {import('../../src/store/account-store.js').AccountStore | null} store
 * @returns {Promise<unknown>} when it is about to write
 */
export function nextWrite(store) {
  const { promise, resolve } = Promise.withResolvers()
  store?.searchAccess.database.use.onWrite(() => resolve(undefined))
  return promise
}
