/**
 * Makes the mailboxes that folders of the source go to, with their uses and subscriptions.
 */
import { ensureMailbox } from '../ensure-mailbox.js'

/**
 * @typedef {import('../../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('./plan-folders.js').PlannedFolder} PlannedFolder
 */

/**
 * @param {AccountStore} store
 * @param {readonly PlannedFolder[]} plan - of which the folder is one
 * @param {PlannedFolder} folder - whose mailbox is missing or new to the import
 * @throws {import('../../errors.js').MailError} CANNOT, LIMIT, READ_ONLY
 */
export async function prepareMailbox(store, plan, { mailbox: name, use, isSubscribed }) {
  await ensureMailbox(store, name)
  if (use !== null) {
    const holder = (await store.listMailboxes()).find(({ specialUse }) => specialUse === use)
    const hasUse = await store.movingIn.giveUse(name, use)
    const isLeftOver = holder !== undefined && !plan.some(({ mailbox }) => mailbox === holder.name)
    // Such as the empty Sent of a new account, where the source calls its own otherwise. Another run may have been faster.
    if (hasUse && isLeftOver && (await store.movingIn.removeUnused(holder.name)))
      await store.setSubscribed(holder.name, false)
  }
  if (name !== 'INBOX') await store.setSubscribed(name, isSubscribed)
}
