/**
 * Damage to single pages of an account's file.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { openEncryptedDatabase } from '../../src/database/open.js'

export const PAGE_BYTES = 4096

/**
 * @param {string} path
 * @param {number} page - from 1, as SQLite counts
 */
export function damagePage(path, page) {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  const offset = (page - 1) * PAGE_BYTES + 1234
  readSync(file, byte, 0, 1, offset)
  byte[0] = (byte[0] ?? 0) ^ 0x55
  writeSync(file, byte, 0, 1, offset)
  closeSync(file)
}

/**
 * @param {string} path
 * @param {Buffer} key
 * @param {string} table - or index
 * @param {'internal' | 'leaf' | 'overflow'} type
 * @param {import('../../src/database/setup-pragma.js').Cipher} [cipher]
 * @returns {number[]} the pages of that kind, in their order
 */
export function pagesOf(path, key, table, type, cipher = 'chacha20') {
  const { db } = openEncryptedDatabase({ path, key, cipher })
  try {
    return /** @type {number[]} */ (
      db
        .prepare('SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path')
        .pluck()
        .all(table, type)
    )
  } finally {
    db.close()
  }
}
