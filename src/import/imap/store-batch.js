/**
 * Stores a batch of messages in one transaction, or one by one when it is refused, to see which message is the reason.
 */
import { isMailError, MailError } from '../../errors.js'
import { imapImportKey } from '../../store/moving-in/import-key.js'
import { flagsText, keepableFlags } from './source-flags.js'

/**
 * @typedef {import('../../store/append.js').AppendedMessage} AppendedMessage
 * @typedef {import('./fetch-batch.js').StagedBatch} StagedBatch
 * @typedef {import('./folder-changes.js').Target} Target
 * @typedef {import('./source-connection.js').SourceMessage} SourceMessage
 *
 * @typedef {object} StoredBatch
 * @property {number} copied
 * @property {number} skipped - there already
 * @property {{ uid: number, error: unknown }[]} failures
 */

/**
 * @param {Target & { taken: Set<number> | null }} target - `taken`: UIDs of the mailbox that stand for messages of the source
 *   already, where the same messages may be there from before; null where none is
 * @param {readonly SourceMessage[]} messages - in the order of their UIDs
 * @param {StagedBatch} batch
 * @returns {Promise<StoredBatch>}
 * @throws {MailError} what ends the run: OVER_QUOTA, DISK_FULL, NOT_DURABLE …
 */
export async function storeBatch(target, messages, { contents, failures }) {
  /** @type {StoredBatch} */
  const stored = { copied: 0, skipped: 0, failures: [...failures] }
  /** @type {AppendedMessage[]} */
  const pending = []
  for (const message of messages) {
    const content = contents.get(message.uid)
    if (content === undefined) continue
    const appended = toAppended(target, message, content)
    if (await isLinked(target, message.uid, appended)) stored.skipped++
    else pending.push(appended)
  }
  if (pending.length === 0) return stored
  try {
    await append(target, pending, stored)
  } catch (error) {
    if (!(error instanceof MailError) || error.temporary || isMailError(error, 'OVER_QUOTA'))
      throw error
    for (const message of pending) await appendAlone(target, message, stored)
  }
  return stored
}

/**
 * @param {Target} target
 * @param {SourceMessage} message
 * @param {import('../../store/staged-content.js').StagedContent} content
 * @returns {AppendedMessage}
 */
function toAppended({ folder }, { uid, flags: named, internalDate }, content) {
  const flags = keepableFlags(named)
  return {
    content,
    flags,
    internalDate,
    importKey: imapImportKey(folder.id, uid),
    sourceFlags: flagsText(flags),
    ...(folder.keepsUids && { uid })
  }
}

/**
 * @param {Target & { taken: Set<number> | null }} target
 * @param {number} uid
 * @param {AppendedMessage} message
 * @returns {Promise<boolean>} whether the message was there
 */
async function isLinked({ store, folder, taken }, uid, { content, sourceFlags = '' }) {
  if (taken === null) return false
  const link = { folder, uid, content, flags: sourceFlags, taken }
  const rowId = await store.movingIn.linkEqual(link)
  if (rowId !== null) taken.add(rowId)
  return rowId !== null
}

/**
 * @param {Target} target
 * @param {readonly AppendedMessage[]} messages
 * @param {StoredBatch} stored
 */
async function append({ store, mailboxName }, messages, stored) {
  const { uids } = await store.appendMessages(mailboxName, messages)
  // A message without a UID was stored by a faster run beside this one.
  const known = uids.filter((uid) => uid === 0).length
  stored.copied += messages.length - known
  stored.skipped += known
}

/**
 * @param {Target} target
 * @param {AppendedMessage} message
 * @param {StoredBatch} stored
 */
async function appendAlone(target, message, stored) {
  const uid = message.importKey?.readUInt32BE(8) ?? 0
  try {
    await append(target, [message], stored)
  } catch (error) {
    // It was swept while it waited, for instance.
    if (!isMailError(error, 'LIMIT')) throw error
    stored.failures.push({ uid, error })
  }
}
