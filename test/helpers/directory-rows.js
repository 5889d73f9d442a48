/**
 * Accounts and credentials with random bytes where keys would be: rows for a directory that is asked without any crypto.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

/**
 * @typedef {import('../../src/accounts/directory-port.js').Credential} Credential
 * @typedef {import('../../src/accounts/directory-port.js').NewAccount} NewAccount
 */

/**
 * @param {string} accountId
 * @param {Partial<Credential>} [change]
 * @returns {Credential}
 */
export function credential(accountId, change) {
  return {
    id: randomBytes(8).toString('hex'),
    accountId,
    kind: 'password',
    label: '',
    scope: 'read-write',
    expiresAtMs: null,
    version: 1,
    argon2: { memoryKiB: 65_536, passes: 2, parallelism: 1 },
    pepperId: '0011223344556677',
    keyEpoch: 1,
    lookup: null,
    salt: randomBytes(16),
    commitment: randomBytes(32),
    wrappedKey: randomBytes(61),
    createdAtMs: 1,
    changedAtMs: 1,
    lastUsedAtMs: null,
    ...change
  }
}

/**
 * @param {string} data
 * @param {string} address
 * @returns {NewAccount}
 */
export function newAccount(data, address) {
  const id = randomBytes(8).toString('hex')
  const domain = String(address.split('@')[1])
  return {
    id,
    address,
    domain,
    folder: join(data, 'mail', domain, id),
    cipher: 'chacha20',
    quotaBytes: 0,
    quotaMessages: 0,
    keys: {
      keyEpoch: 1,
      sealRecipient: `age1pq1${id}`,
      sealPublicKey: randomBytes(1216),
      credentials: [
        credential(id),
        credential(id, { kind: 'recovery', argon2: null, pepperId: null })
      ],
      sealIdentities: [
        {
          accountId: id,
          number: 1,
          recipient: `age1pq1${id}`,
          keyEpoch: 1,
          wrappedSecret: randomBytes(61),
          createdAtMs: 1
        }
      ]
    }
  }
}
