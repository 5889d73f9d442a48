/**
 * Stores what a run seals to the operator's recovery key: the keys of each account, the directory, the pepper. Keys and pepper
 * that are the same as in an earlier run, for the same recipient, are not stored again.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pepperIdOf } from '../accounts/pepper.js'
import { keysName } from '../accounts/directory-snapshot.js'
import { PREFIXES, keysObject } from './repository.js'
import { sealBytes, sealFile } from './sealed.js'

/**
 * @typedef {import('../accounts/directory-snapshot.js').DirectorySnapshot} DirectorySnapshot
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 *
 * @typedef {object} Sealed
 * @property {import('./targets/target.js').BackupTarget} target
 * @property {string} recipient - `age1…`
 */

/**
 * @param {Sealed & { snapshot: DirectorySnapshot, stored: import('./stored-objects.js').StoredObjects,
 *   done: Map<string, AccountEntry>, previous: Map<string, AccountEntry> }} input - `done`: of this run, by account
 * @returns {Promise<AccountEntry[]>} of this run; for an account that failed, that of the last run, with the keys of then
 */
export async function storeKeys({ target, recipient, snapshot, stored, done, previous }) {
  /** @type {AccountEntry[]} */
  const entries = []
  for (const { id } of snapshot.accounts()) {
    const before = previous.get(id)
    const entry = done.get(id)
    if (!entry) {
      if (before) entries.push(before)
      continue
    }
    const keys = snapshot.keysOf(id)
    const object = keysObject(id, keysName(`${recipient}\n${keys}`))
    if (before?.keys !== object || !stored.hasKeys(object))
      await target.put(object, await sealBytes(Buffer.from(keys), recipient))
    entries.push({ ...entry, keys: object })
  }
  return entries
}

/**
 * @param {Sealed & { snapshot: DirectorySnapshot, name: string, scratchFolder: string }} input - `snapshot`: loses its keys
 *   here, which have been stored; `name`: of the generation
 * @returns {Promise<string>} its object
 */
export async function storeDirectory({ target, recipient, snapshot, name, scratchFolder }) {
  snapshot.strip()
  const sealed = join(scratchFolder, 'directory.age')
  await sealFile(snapshot.path, sealed, recipient)
  const object = `${PREFIXES.directory}${name}.age`
  await target.putFile(object, sealed)
  return object
}

/**
 * @param {Sealed & { path: string }} input - `path`: of the pepper
 * @returns {Promise<string>} its object
 */
export async function storePepper({ target, recipient, path }) {
  const pepper = await readFile(path)
  try {
    const object = `${PREFIXES.pepper}${keysName(`${recipient}\n${pepperIdOf(pepper)}`)}.age`
    // `size` is 0 where a full disk of the target has emptied the object: that is stored again as well.
    if (!(await target.size(object))) await target.put(object, await sealBytes(pepper, recipient))
    return object
  } finally {
    pepper.fill(0)
  }
}
