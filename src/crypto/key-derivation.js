/**
 * What hangs below an account's master key:
 *
 *   master key (32 random bytes) ── HKDF-SHA-256 ──┬─ "database" ─► raw key of mail.db
 *                                                  ├─ "seal" ─────► wraps the sealing identity
 *                                                  └─ "rekey" ────► wraps the next master key while it takes over
 */
import { hkdf } from './kdf.js'

/**
 * @param {Uint8Array} masterKey - 32 bytes
 * @returns {Buffer} 32 bytes in memory of its own; the caller zeroes it
 */
export function deriveDatabaseKey(masterKey) {
  return hkdf({ key: masterKey, info: 'letterlock/1 database' })
}

/**
 * @param {Uint8Array} masterKey - 32 bytes
 * @returns {Buffer} 32 bytes in memory of its own; the caller zeroes it
 */
export function deriveSealKey(masterKey) {
  return hkdf({ key: masterKey, info: 'letterlock/1 seal' })
}

/**
 * @param {Uint8Array} masterKey - 32 bytes
 * @returns {Buffer} 32 bytes in memory of its own; the caller zeroes it
 */
export function deriveRekeyKey(masterKey) {
  return hkdf({ key: masterKey, info: 'letterlock/1 rekey' })
}
