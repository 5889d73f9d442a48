/**
 * Makes a mailbox for imported mail, beside other runs that may do the same. The mailbox is subscribed: many clients, Thunderbird
 * and Claws Mail among them, show no other.
 */
import { isMailError } from '../errors.js'

/**
 * @param {import('../store/account-store.js').AccountStore} store
 * @param {string} name
 * @throws {import('../errors.js').MailError} CANNOT, LIMIT, READ_ONLY
 */
export async function ensureMailbox(store, name) {
  const mailboxes = await store.listMailboxes()
  if (mailboxes.some((mailbox) => mailbox.name === name)) return
  await store.createMailbox(name, { isSubscribed: true }).catch((error) => {
    // Another run was faster.
    if (!isMailError(error, 'MAILBOX_EXISTS')) throw error
  })
}
