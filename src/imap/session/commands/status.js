/**
 * STATUS tells about a mailbox without opening it.
 *
 * State: authenticated, selected.
 * Command: RFC 3501 §6.3.10, RFC 9051 §6.3.11; RFC 7162 §3.1.7 (HIGHESTMODSEQ), RFC 8438 §3 (SIZE), RFC 7889 §3.1
 * (APPENDLIMIT), RFC 9208 §4.1.4 (DELETED-STORAGE), RFC 8474 §4.3 (MAILBOXID). Response: RFC 3501 §7.2.4.
 */
import { compileStatus } from '../../protocol/compile/status.js'
import { mailboxIdOf } from '../object-id.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */
/** @import { MailboxRow } from '../../../store/mailbox-rows.js' */

/**
 * @typedef {MailboxRow & { recentCount?: number, deletedBytes: number, appendLimit: number }} MailboxStatus -
 *   `recentCount` and `deletedBytes` are read when they are asked for
 */

/** @type {Readonly<Record<string, (status: MailboxStatus) => number | string | undefined>>} */
const ITEMS = {
  MESSAGES: ({ messageCount }) => messageCount,
  RECENT: ({ recentCount }) => recentCount,
  UIDNEXT: ({ uidNext }) => uidNext,
  UIDVALIDITY: ({ uidValidity }) => uidValidity,
  DELETED: ({ deletedCount }) => deletedCount,
  UNSEEN: ({ unseenCount }) => unseenCount,
  SIZE: ({ totalBytes }) => totalBytes,
  HIGHESTMODSEQ: ({ highestModSeq }) => highestModSeq,
  APPENDLIMIT: ({ appendLimit }) => appendLimit,
  'DELETED-STORAGE': ({ deletedBytes }) => deletedBytes,
  MAILBOXID: ({ id }) => `(${mailboxIdOf(id)})`
}

/** @type {Command} */
export const status = {
  name: 'STATUS',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ mailbox: string, items: string[] }} */ { mailbox, items }) {
    // RFC 7162 §3.1: to ask for it is enough, whether there is such a mailbox or not.
    if (items.includes('HIGHESTMODSEQ')) session.enableCondstore()
    await writeStatus(session, await session.store.mailboxStatus(mailbox), items)
    return { text: 'STATUS completed' }
  }
}

/**
 * Writes one STATUS response.
 *
 * @param {Session} session
 * @param {MailboxRow} mailbox - as it was read a moment ago
 * @param {readonly string[]} items - upper case
 * @throws {import('../../../errors.js').MailError} MAILBOX_NOT_FOUND when it has been deleted since
 */
export async function writeStatus(session, mailbox, items) {
  if (items.includes('HIGHESTMODSEQ')) session.enableCondstore()
  const { store, context } = session
  const row = items.includes('RECENT') ? await store.mailboxStatus(mailbox.name) : mailbox
  const readsDeleted = items.includes('DELETED-STORAGE') && row.deletedCount > 0
  const deletedBytes = readsDeleted ? await store.deletedBytes(row.id) : 0
  const status = { ...row, deletedBytes, appendLimit: context.config.messages.maxBytes }
  const values = items.map(
    (item) => /** @type {[string, number | string]} */ ([item, ITEMS[item]?.(status)])
  )
  session.write(compileStatus(mailbox.name, values, { isUtf8: session.enabled.isUtf8 }))
}
