/**
 * A mail store in the process that uses it, as a desktop program has it: Letterlock's store without its server, and
 * plain SQLite.
 */
import { join } from 'node:path'
import { createAccountStore, openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { PLAIN_SETTINGS, PlainMailbox } from '../lib/plain-mailbox.js'

/**
 * @typedef {import('../lib/mail.js').Mail} Mail
 * @typedef {import('../lib/question.js').Contender} Contender
 * @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore
 *
 * @typedef {object} MailStore
 * @property {() => Promise<number>} openFolder - gives the number of messages, each one's flags at hand
 * @property {() => Promise<{ total: number, unseen: number }>} counts
 * @property {(mails: readonly Mail[]) => Promise<void>} add - on the disk when it resolves
 * @property {() => Promise<void>} index - does at once what is done some seconds after mail has come: search index, packed lists
 * @property {() => Promise<void>} close
 */

export const KEY = Buffer.alloc(32, 0x5a)

/** Messages in one transaction when many are added. */
export const BATCH = 100

/** @returns {Contender[]} */
export const storeContenders = () => [
  {
    id: 'letterlock',
    label: 'Letterlock’s store',
    isPeer: false,
    settings: { cipher: 'chacha20', secure_delete: 'ON', durable: 'every batch', batch: BATCH }
  },
  {
    id: 'letterlock-aegis',
    label: 'Letterlock’s store, aegis-256',
    isPeer: false,
    settings: { cipher: 'aegis-256', secure_delete: 'ON', durable: 'every batch', batch: BATCH }
  },
  {
    id: 'plain',
    label: 'better-sqlite3',
    isPeer: true,
    settings: { ...PLAIN_SETTINGS, search: 'none', batch: BATCH }
  }
]

/**
 * @param {string} folder
 * @param {Contender} contender
 * @returns {string} of the database
 */
export const fileOf = (folder, { id }) => join(folder, id === 'plain' ? 'plain.db' : 'mail.db')

/**
 * @param {string} folder - of the store, its own
 * @param {Contender} contender
 * @param {{ isNew: boolean }} how
 * @returns {Promise<MailStore>}
 */
export async function openMailStore(folder, contender, { isNew }) {
  if (contender.id === 'plain') {
    const mailbox = new PlainMailbox(fileOf(folder, contender), { hasText: false })
    return {
      openFolder: async () => mailbox.openFolder(),
      counts: async () => mailbox.counts(),
      add: async (mails) => mailbox.add(mails),
      index: async () => {},
      close: async () => mailbox.close()
    }
  }
  const cipher =
    contender.id === 'letterlock'
      ? /** @type {const} */ ('chacha20')
      : /** @type {const} */ ('aegis-256')
  const options = { folder, key: KEY, cipher, clock: systemClock }
  const store = await (isNew ? createAccountStore(options) : openAccountStore(options))
  return {
    openFolder: async () => (await store.openView('INBOX')).view.length,
    counts: async () => {
      const { messageCount: total, unseenCount: unseen } = await store.mailboxStatus('INBOX')
      return { total, unseen }
    },
    add: (mails) => addToStore(store, mails),
    index: () => store.indexSearch(),
    close: () => store.close()
  }
}

/**
 * @param {AccountStore} store
 * @param {readonly Mail[]} mails
 */
async function addToStore(store, mails) {
  const messages = []
  for (const { bytes, flags, epochSeconds } of mails) {
    const writer = await store.stageContent({ sizeHint: bytes.length })
    await writer.write(bytes)
    const content = await writer.finish()
    messages.push({ content, flags, internalDate: { epochSeconds, zoneMinutes: 0 } })
  }
  await store.appendMessages('INBOX', messages)
}
