/**
 * Writes an account's mail out as files that other programs read, one message at a time, each as a stream.
 */
import { readdir } from 'node:fs/promises'
import { isMailError, MailError } from '../errors.js'
import { makeFolderDurably } from '../support/write-file.js'

/**
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('../store/mailbox-view.js').MailboxView} MailboxView
 * @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate
 *
 * @typedef {object} ExportedMessage
 * @property {number} uid
 * @property {string[]} flags
 * @property {ZonedDate} internalDate
 * @property {number} size - bytes
 * @property {() => AsyncGenerator<Buffer>} read - the exact bytes
 * @property {() => Promise<boolean>} endsLine - whether the last byte is a LF
 *
 * @typedef {object} MailboxWriter
 * @property {(message: ExportedMessage) => Promise<void>} write - where it fails, it leaves nothing of the message
 * @property {() => Promise<void>} close
 *
 * @typedef {object} ExportTarget
 * @property {(name: string) => Promise<MailboxWriter>} openMailbox - called once for each mailbox
 *
 * @typedef {{ mailboxes: number, messages: number, bytes: number }} ExportSummary
 */

const LF = 0x0a

/** The rows of so many messages are read at a time. */
const ROWS_AT_ONCE = 500

/**
 * @param {string} folder - made when it is missing
 * @throws {MailError} EXPORT_REFUSED where the folder is not empty: nothing is ever overwritten
 */
export async function requireEmptyFolder(folder) {
  await makeFolderDurably(folder)
  const names = await readdir(folder)
  if (names.length > 0) throw new MailError('EXPORT_REFUSED', { detail: 'the folder is not empty' })
}

/**
 * @param {object} request
 * @param {AccountStore} request.store
 * @param {ExportTarget} request.target
 * @param {(name: string) => boolean} [request.isWanted] - by the mailbox's name
 * @param {(progress: { mailbox: string, done: number, total: number }) => void} [request.onProgress] - over all
 *   mailboxes
 * @param {AbortSignal} [request.signal] - ends the run after the message in hand
 * @returns {Promise<ExportSummary>}
 * @throws {MailError} ACCOUNT_DAMAGED; and what the file system throws
 */
export async function exportMailboxes({
  store,
  target,
  isWanted = () => true,
  onProgress = () => {},
  signal
}) {
  const mailboxes = (await store.listMailboxes()).filter(({ name }) => isWanted(name))
  const total = mailboxes.reduce((sum, { messageCount }) => sum + messageCount, 0)
  const summary = { mailboxes: 0, messages: 0, bytes: 0 }
  for (const mailbox of mailboxes) {
    if (signal?.aborted) break
    const view = await openView(store, mailbox)
    if (!view) continue
    const { name } = mailbox
    try {
      const writer = await target.openMailbox(name)
      try {
        for await (const message of readMessages(store, view)) {
          if (signal?.aborted) break
          if (!(await writeIfThere(writer, message))) continue
          summary.messages++
          summary.bytes += message.size
          onProgress({ mailbox: name, done: summary.messages, total })
        }
      } finally {
        await writer.close()
      }
    } finally {
      store.closeView(view)
    }
    summary.mailboxes++
  }
  return summary
}

/**
 * @param {AccountStore} store
 * @param {{ id: number, name: string }} mailbox - as it was listed; it may have another name by now
 * @returns {Promise<MailboxView | null>} null where it was deleted meanwhile
 */
async function openView(store, { id, name }) {
  for (let current = name; ;) {
    try {
      const { view } = await store.openView(current)
      return view
    } catch (error) {
      if (!isMailError(error, 'MAILBOX_NOT_FOUND')) throw error
    }
    const renamed = (await store.listMailboxes()).find((mailbox) => mailbox.id === id)
    if (!renamed) return null
    current = renamed.name
  }
}

/**
 * @param {MailboxWriter} writer
 * @param {ExportedMessage} message
 * @returns {Promise<boolean>} false where the message was expunged, and its content swept away, before it was read
 */
async function writeIfThere(writer, message) {
  try {
    await writer.write(message)
    return true
  } catch (error) {
    if (!isMailError(error, 'MESSAGE_GONE')) throw error
    return false
  }
}

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @returns {AsyncGenerator<ExportedMessage>} by UID; messages that are expunged meanwhile are left out
 */
async function* readMessages(store, view) {
  const uids = []
  for (let slot = 0; slot < view.length; slot++) {
    if (!view.isExpunged(slot)) uids.push(/** @type {number} */ (view.uids[slot]))
  }
  for (let at = 0; at < uids.length; at += ROWS_AT_ONCE) {
    const page = uids.slice(at, at + ROWS_AT_ONCE)
    const records = await store.readMessages(view.mailboxId, page, { row: true })
    for (const { uid, flags, keywords, internalDate, size, contentId } of records) {
      yield {
        uid,
        flags: store.keywords.flagNames(flags, keywords),
        internalDate,
        size,
        read: () => store.readContent(contentId),
        endsLine: async () => {
          const { value } = await store.readContent(contentId, Math.max(size - 1, 0)).next()
          return value?.at(-1) === LF
        }
      }
    }
  }
}
