/**
 * All mail of one IMAP server, copied into a store.
 */
import { copyAccount } from '../../src/import/imap/copy-account.js'
import { SourcePool } from '../../src/import/imap/source-pool.js'
import { parseSourceServer } from '../../src/import/imap/source-server.js'

/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @param {number} uid
 * @returns {import('./imap-source.js').OfferedMessage}
 */
export const messageOf = (uid) => ({ uid, bytes: Buffer.from(`Subject: ${uid}\r\n\r\nbody\r\n`) })

/**
 * @param {AccountStore} store
 * @param {number} port
 * @param {number} [connections]
 * @param {AbortSignal} [signal] - ends the run
 */
export async function copy(store, port, connections = 1, signal) {
  const server = parseSourceServer(`imap://ann@127.0.0.1:${port}`)
  const pool = new SourcePool({
    login: {
      server,
      password: Buffer.from('pass'),
      certificateAuthority: null,
      mayBePlaintext: true
    },
    connections,
    retryMs: [0, 0]
  })
  /** @type {string[]} */
  const failures = []
  const onFailure = (/** @type {{ uid: number | null, error: unknown }} */ { uid, error }) => {
    failures.push(`${uid}: ${/** @type {Error} */ (error).message}`)
  }
  /** @type {string[]} */
  const told = []
  const onProgress = (
    /** @type {string} */ mailbox,
    /** @type {{ done: number, total: number }} */ { done, total }
  ) => told.push(`${mailbox} ${done}/${total}`)
  const observer = { onFailure, onProgress }
  try {
    const source = server.name
    const request = { store, pool, source, observer, ...(signal && { signal }) }
    return { ...(await copyAccount(request)), failures, told }
  } finally {
    await pool.close()
  }
}

/**
 * @param {AccountStore} store
 * @returns {Promise<{ uid: number, size: number, internalDate: unknown }[]>} messages of INBOX
 */
export async function inbox(store) {
  const { view } = await store.openView('INBOX')
  const uids = [...view.uids.subarray(0, view.length)]
  const rows = await store.readMessages(view.mailboxId, uids, { row: true })
  store.closeView(view)
  return rows.map(({ uid, size, internalDate }) => ({ uid, size, internalDate }))
}
