/**
 * Messages out of a backup into the mailbox of today, in folders of their own: nothing that is there is touched.
 */
import { parseMessageId } from '../mime/message-id.js'
import { DELIMITER, isShortEnough, storedMailboxName } from '../store/mailbox-name.js'

/**
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 *
 * @typedef {object} WantedMessages
 * @property {string | null} folder - as a person types it; null: of all folders
 * @property {string | null} messageId - with or without angle brackets; null: all
 */

/** Messages of one transaction. */
const BATCH_MESSAGES = 50

/** \Deleted does not come back: who asks for a message wants it. */
const LEFT_OUT = new Set(['\\deleted'])

/**
 * @param {string} text - as a person types it
 * @returns {string} as the store has it
 */
function normalId(text) {
  const written = Buffer.from(text).toString('latin1')
  return parseMessageId(written) ?? parseMessageId(`<${written}>`) ?? written
}

/**
 * @param {string} into - short
 * @param {string} name - of a mailbox
 * @returns {string} where it comes back; of a name that has no room there, its end
 */
function placeBelow(into, name) {
  let levels = name.split(DELIMITER)
  for (;;) {
    const place = [into, ...levels].join(DELIMITER)
    if (isShortEnough(place)) return place
    const [first = '', ...below] = levels
    levels = below.length > 0 ? below : [[...first].slice(1).join('')]
  }
}

/**
 * Makes the mailbox if it is missing, subscribed: many clients show no other.
 *
 * @param {AccountStore} store
 * @param {string} name
 */
async function requireMailbox(store, name) {
  const mailboxes = await store.listMailboxes()
  if (!mailboxes.some((mailbox) => mailbox.name === name))
    await store.createMailbox(name, { isSubscribed: true })
}

/**
 * @param {object} input
 * @param {AccountStore} input.from - the backup's
 * @param {AccountStore} input.to - today's
 * @param {WantedMessages} input.wanted
 * @param {string} input.into - the folder above those that are made, for instance `Restored 2026-11-21`
 * @param {(restored: number) => void} [input.onProgress]
 * @returns {Promise<{ restored: number, folders: string[] } | null>} null where the backup has no such folder
 * @throws {import('../errors.js').MailError} OVER_QUOTA, DISK_FULL …; MAILBOX_NOT_FOUND where somebody deletes what is being
 *   filled
 */
export async function restoreMessages({ from, to, wanted, into, onProgress = () => {} }) {
  const messageId = wanted.messageId === null ? null : normalId(wanted.messageId)
  const folder = wanted.folder === null ? null : storedMailboxName(wanted.folder)
  const mailboxes = (await from.listMailboxes()).filter(
    ({ name }) => folder === null || name === folder
  )
  if (mailboxes.length === 0) return null
  let restored = 0
  /** @type {string[]} */
  const folders = []
  for (const { name } of mailboxes) {
    const { view } = await from.openView(name)
    try {
      const target = placeBelow(into, name)
      const uids = [...view.uids.subarray(0, view.length)]
      for (let at = 0; at < uids.length; at += BATCH_MESSAGES) {
        const found = await from.readMessages(view.mailboxId, uids.slice(at, at + BATCH_MESSAGES), {
          row: true,
          search: messageId !== null
        })
        const records = found.filter(
          (record) => messageId === null || record.messageId === messageId
        )
        if (records.length === 0) continue
        if (!folders.includes(target)) {
          await requireMailbox(to, into)
          await requireMailbox(to, target)
          folders.push(target)
        }
        restored += await copyAll({ from, to, records, target })
        onProgress(restored)
      }
    } finally {
      from.closeView(view)
    }
  }
  return { restored, folders }
}

/**
 * @param {object} input
 * @param {AccountStore} input.from
 * @param {AccountStore} input.to
 * @param {import('../store/account-store.js').MessageRecord[]} input.records
 * @param {string} input.target
 * @returns {Promise<number>}
 */
async function copyAll({ from, to, records, target }) {
  const writers = []
  const messages = []
  try {
    for (const { size, contentId, flags, keywords, internalDate } of records) {
      await to.checkAppend({ mailboxName: target, sizeBytes: size })
      const writer = await to.stageContent({ sizeHint: size })
      writers.push(writer)
      for await (const piece of from.readContent(contentId)) await writer.write(piece)
      const names = from.keywords
        .flagNames(flags, keywords)
        .filter((flag) => !LEFT_OUT.has(flag.toLowerCase()))
      messages.push({ content: await writer.finish(), flags: names, internalDate })
    }
    await to.appendMessages(target, messages)
    return messages.length
  } finally {
    for (const writer of writers) await writer.abort()
  }
}
