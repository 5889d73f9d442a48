/**
 * A mailbox as the session sees it that has selected it, without a connection around it.
 */
import { SelectedMailbox } from '../../src/imap/session/selected-mailbox.js'

/**
 * @param {import('../../src/store/account-store.js').AccountStore} store
 * @param {string} [mailbox]
 * @returns {Promise<{ view: import('../../src/store/mailbox-view.js').MailboxView, selected: SelectedMailbox }>}
 *   `selected`: what others change is kept back until it is released
 */
export async function selectIn(store, mailbox = 'INBOX') {
  const { view } = await store.openView(mailbox)
  const selected = new SelectedMailbox({
    view,
    isReadOnly: false,
    origin: null,
    onChange: () => undefined
  })
  selected.hold()
  return { view, selected }
}
