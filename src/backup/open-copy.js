/**
 * A mailbox of a generation, in a scratch folder and open: with the user's credential, to look at it or take mail out.
 */
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { openAccountStore } from '../store/account-store.js'
import { requireRoom } from '../support/room.js'
import { materialize } from './materialize.js'
import { readSnapshot } from './snapshot-store.js'

/**
 * @template T
 * @param {object} input
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {import('./repository.js').AccountEntry} input.entry
 * @param {import('../crypto/secret-buffer.js').SecretBuffer} input.masterKey - of the entry's key epoch
 * @param {string} input.folder - made here, and removed at the end; on a disk that has room for the mailbox
 * @param {import('../support/clock.js').Clock} input.clock
 * @param {(bytes: number) => void} [input.onRead]
 * @param {(store: import('../store/account-store.js').AccountStore) => Promise<T>} work
 * @returns {Promise<T>}
 * @throws {import('../errors.js').MailError} BACKUP_DAMAGED, KEY_REJECTED, ACCOUNT_DAMAGED, SCRATCH_FULL …
 */
export async function withOpenCopy({ target, entry, masterKey, folder, clock, onRead }, work) {
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    await requireRoom(dirname(folder), entry.bytes)
    const snapshot = await readSnapshot(target, entry.snapshot)
    await materialize({
      target,
      snapshot,
      folder,
      wants: ({ path }) => !path.startsWith('spool/'),
      ...(onRead && { onRead })
    })
    const store = await openAccountStore({
      folder,
      key,
      cipher: /** @type {import('../database/setup-pragma.js').Cipher | null} */ (snapshot.cipher),
      clock
    })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  } finally {
    key.fill(0)
    await rm(folder, { recursive: true, force: true })
  }
}
