/**
 * Fetches some messages from the source into the encrypted file, as contents that no mailbox refers to yet.
 */
import { isMailError, MailError } from '../../errors.js'
import { NOT_GIVEN } from './source-connection.js'
import { isConnectionTrouble } from './source-pool.js'
import { toUidSet } from './uid-ranges.js'

/**
 * @typedef {import('../../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('../../store/staged-content.js').StagedContent} StagedContent
 * @typedef {import('./source-connection.js').SourceConnection} SourceConnection
 * @typedef {import('./source-connection.js').SourceMessage} SourceMessage
 *
 * @typedef {object} StagedBatch
 * @property {Map<number, StagedContent>} contents - by UID
 * @property {{ uid: number, error: unknown }[]} failures
 */

/** A message of more bytes is asked for in windows, so that it never lies in memory as a whole. */
export const LARGE_BYTES = 1024 * 1024

/**
 * @param {object} request
 * @param {AccountStore} request.store
 * @param {SourceConnection} request.connection - with the folder open
 * @param {readonly SourceMessage[]} request.messages - ascending; a large one stands alone
 * @returns {Promise<StagedBatch>} messages that are gone are in neither list
 * @throws what ends the run: a lost connection, a full or damaged mailbox
 */
export async function fetchBatch({ store, connection, messages }) {
  /** @type {StagedBatch} */
  const batch = { contents: new Map(), failures: [] }
  const keep = async (/** @type {number} */ uid, /** @type {AsyncIterable<Buffer>} */ pieces) => {
    try {
      batch.contents.set(uid, await stage(store, pieces))
    } catch (error) {
      if (!isMailError(error, 'TOO_BIG') && !isMailError(error, 'MESSAGE_EMPTY')) throw error
      batch.failures.push({ uid, error })
    }
  }
  const [first] = messages
  if (messages.length === 1 && first && first.sizeBytes > LARGE_BYTES) {
    await refusable(batch, { connection, uid: first.uid }, () =>
      keep(first.uid, connection.readWindows(first))
    )
  } else {
    await readTogether(connection, messages, keep)
  }
  for (const { uid } of await missingOf(connection, messages, batch)) {
    // Asked for once more, alone: the server's answer is then about this message.
    await refusable(batch, { connection, uid }, async () => {
      for await (const { bytes } of connection.readWhole(String(uid))) await keep(uid, one(bytes))
      if (!batch.contents.has(uid) && !batch.failures.some((failure) => failure.uid === uid)) {
        throw new Error(NOT_GIVEN)
      }
    })
  }
  return batch
}

/**
 * @param {SourceConnection} connection
 * @param {readonly SourceMessage[]} messages
 * @param {(uid: number, pieces: AsyncIterable<Buffer>) => Promise<void>} keep
 */
async function readTogether(connection, messages, keep) {
  const wanted = new Set(messages.map(({ uid }) => uid))
  try {
    for await (const { uid, bytes } of connection.readWhole(toUidSet([...wanted]))) {
      if (wanted.delete(uid)) await keep(uid, one(bytes))
    }
  } catch (error) {
    // One message that the server cannot read spoils the answer for all: they are asked for one by one.
    if (error instanceof MailError || isConnectionTrouble(error)) throw error
  }
}

/**
 * @param {SourceConnection} connection
 * @param {readonly SourceMessage[]} messages
 * @param {StagedBatch} batch
 * @returns {Promise<SourceMessage[]>} those that are there and have not come
 */
async function missingOf(connection, messages, { contents, failures }) {
  const failed = new Set(failures.map(({ uid }) => uid))
  const missing = messages
    .map(({ uid }) => uid)
    .filter((uid) => !contents.has(uid) && !failed.has(uid))
  return missing.length === 0 ? [] : await connection.describe(toUidSet(missing))
}

/**
 * @param {StagedBatch} batch
 * @param {{ connection: SourceConnection, uid: number }} message - that the work is about
 * @param {() => Promise<void>} work
 */
async function refusable({ failures }, { connection, uid }, work) {
  try {
    await work()
  } catch (error) {
    if (error instanceof MailError || isConnectionTrouble(error)) throw error
    const [isThere] = await connection.describe(String(uid))
    // A message that somebody has deleted meanwhile is no failure.
    if (isThere) failures.push({ uid, error })
  }
}

/**
 * @param {AccountStore} store
 * @param {AsyncIterable<Buffer>} pieces
 * @returns {Promise<StagedContent>}
 */
async function stage(store, pieces) {
  const writer = await store.stageContent()
  let size = 0
  try {
    for await (const piece of pieces) {
      size += piece.length
      await writer.write(piece)
    }
    if (size === 0) throw new MailError('MESSAGE_EMPTY')
    return await writer.finish()
  } catch (error) {
    await writer.abort()
    throw error
  }
}

/**
 * @param {Buffer} bytes
 * @returns {AsyncGenerator<Buffer>}
 */
async function* one(bytes) {
  yield bytes
}
