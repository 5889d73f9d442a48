/**
 * How messages of an IMAP folder are named in import_log: the folder's number and the UID, so that the keys of one folder
 * lie together and in order. File imports use 32 bytes of a hash; these keys have 12, so the two never meet.
 *
 *     "imap" │ folder, 4 bytes │ UID, 4 bytes      both big-endian
 */

const PREFIX = Buffer.from('imap')
const KEY_BYTES = 12

/**
 * @param {number} folderId - imap_folders.id
 * @param {number} uid - at the source
 * @returns {Buffer}
 */
export function imapImportKey(folderId, uid) {
  const key = Buffer.alloc(KEY_BYTES)
  PREFIX.copy(key)
  key.writeUInt32BE(folderId, 4)
  key.writeUInt32BE(uid, 8)
  return key
}

/**
 * @param {Buffer} key - of `imapImportKey`
 * @returns {number} the UID at the source
 */
export function uidOfImportKey(key) {
  return key.readUInt32BE(8)
}

/** SQL for the key of a message that has kept its UID; `@prefix` is the first half in hexadecimal digits. */
export const KEY_OF_SAME_UID = "unhex(@prefix || printf('%08x', m.id & 4294967295))"

/**
 * @param {number} folderId
 * @returns {string} for `@prefix`
 */
export function keyPrefixHex(folderId) {
  return imapImportKey(folderId, 0).subarray(0, 8).toString('hex')
}
