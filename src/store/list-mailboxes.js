/**
 * All mailboxes and subscriptions of an account, read in pages: there may be tens of thousands, with names of 1 KiB.
 */
import { Slicer } from '../support/slicer.js'
import { nextTurn } from '../support/turns.js'
import { readMailboxPage } from './mailbox-rows.js'
import { readSubscriptionPage } from './mailboxes.js'
import { sortInSlices } from './sort/sliced-sort.js'

/**
 * @typedef {Pick<import('./account-database.js').AccountDatabase, 'read'>} Source
 * @typedef {import('./mailbox-rows.js').MailboxRow} MailboxRow
 */

/** Rows a slice: some 5 ms. Almost every account has fewer mailboxes, and these are of one moment. */
const MAILBOX_PAGE = 1000
const SUBSCRIPTION_PAGE = 1000

/**
 * By id, which a RENAME between two pages does not change: no mailbox is missed, none is told twice.
 *
 * @param {Source} database
 * @returns {Promise<MailboxRow[]>} by name
 */
export async function listMailboxes(database) {
  /** @type {MailboxRow[]} */
  const mailboxes = []
  for (;;) {
    const afterId = mailboxes.at(-1)?.id ?? 0
    const page = await database.read((db) => readMailboxPage(db, afterId, MAILBOX_PAGE))
    mailboxes.push(...page)
    if (page.length < MAILBOX_PAGE) break
    await nextTurn()
  }
  return await sortInSlices(
    mailboxes,
    (left, right) => (left.name < right.name ? -1 : 1),
    new Slicer()
  )
}

/**
 * @param {Source} database
 * @returns {Promise<string[]>} by name
 */
export async function listSubscriptions(database) {
  /** @type {string[]} */
  const names = []
  for (;;) {
    const after = names.at(-1) ?? ''
    const page = await database.read((db) => readSubscriptionPage(db, after, SUBSCRIPTION_PAGE))
    names.push(...page)
    if (page.length < SUBSCRIPTION_PAGE) return names
    await nextTurn()
  }
}
