/**
 * Where backups are kept: objects under names with '/', each whole or absent, never changed but by being replaced whole.
 */

/**
 * @typedef {object} StoredObject
 * @property {string} name
 * @property {number} size - bytes
 *
 * @typedef {object} BackupTarget
 * @property {string} label - for people
 * @property {string} [folder] - absolute, of a place that is one
 * @property {(name: string, bytes: Buffer) => Promise<void>} put - durable and whole when it resolves
 * @property {(name: string, path: string) => Promise<void>} putFile - the same from a local file
 * @property {(name: string) => Promise<Buffer | null>} get - null where there is none
 * @property {(name: string, offset: number, length: number) => Promise<Buffer>} getRange - throws BACKUP_DAMAGED
 *   where the object is missing or shorter
 * @property {(name: string) => Promise<number | null>} size - bytes; null where there is none
 * @property {(prefix: string) => AsyncIterable<StoredObject>} list - in the order of the names
 * @property {(names: string[]) => Promise<void>} remove - those that are not there do no harm
 * @property {() => Promise<void>} close
 */

export {}
