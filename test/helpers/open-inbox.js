import { accountFolder } from './account-folder.js'

/**
 * @param {import('node:test').TestContext} t - all is closed and removed after it
 */
export async function openInbox(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  return { ...account, store, view }
}

/** @param {number} count */
export const firstUids = (count) => Array.from({ length: count }, (_, index) => index + 1)
