/**
 * Applies what has changed at the source since an earlier run: flags, and messages that are gone. The source's changes are
 * brought here, flag by flag; changes that were made here alone stay.
 */
import { isMailError } from '../../errors.js'
import { placeOfRow } from '../../store/moving-in/moving-in.js'
import { flagsText, keepableFlags, systemFlags } from './source-flags.js'

/**
 * @typedef {import('../../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('../../store/mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('../../store/moving-in/import-folder-rows.js').ImportFolder} ImportFolder
 * @typedef {import('../../store/moving-in/import-folder-rows.js').KnownMessage} KnownMessage
 *
 * @typedef {object} Target
 * @property {AccountStore} store
 * @property {ImportFolder} folder
 * @property {string} mailboxName
 *
 * @typedef {{ added: string[], removed: string[] }} FlagChange
 */

/**
 * @param {Target} target
 * @param {readonly KnownMessage[]} known - of messages that are still at the source
 * @param {ReadonlyMap<number, string[]>} flagsNow - at the source, by UID; messages that are missing have not changed
 * @returns {Promise<number>} messages whose flags have changed there
 */
export async function applyFlagChanges({ store, folder, mailboxName }, known, flagsNow) {
  /** @type {Map<string, FlagChange & { uids: number[] }>} */
  const groups = new Map()
  const noted = []
  for (const { uid, rowId, flags: before } of known) {
    const now = flagsNow.get(uid)
    if (now === undefined) continue
    const flags = keepableFlags(now)
    const text = flagsText(flags)
    if (text === before) continue
    noted.push({ uid, flags: text })
    const place = placeOfRow(rowId)
    if (place.mailboxId !== folder.mailboxId) continue
    const change = changeOf(before ? before.split(' ') : [], flags)
    const key = JSON.stringify(change)
    const group = groups.get(key) ?? { ...change, uids: [] }
    group.uids.push(place.uid)
    groups.set(key, group)
  }
  if (noted.length === 0) return 0
  await withView(store, mailboxName, async (view) => {
    for (const { added, removed, uids } of groups.values()) {
      uids.sort(ascending)
      await addFlags(store, view, uids, added)
      if (removed.length > 0) {
        await store.changeFlags({ view, uids, action: 'remove', flags: removed })
      }
    }
  })
  await store.movingIn.noteFlags(folder.id, noted)
  return noted.length
}

/**
 * Expunges the messages that are gone at the source. A crash in between leaves \Deleted, and the next run does the rest.
 *
 * @param {Target} target
 * @param {readonly KnownMessage[]} gone
 * @returns {Promise<number>} messages that were still here
 */
export async function expungeGone({ store, folder, mailboxName }, gone) {
  const uids = gone
    .map(({ rowId }) => placeOfRow(rowId))
    .filter(({ mailboxId }) => mailboxId === folder.mailboxId)
    .map(({ uid }) => uid)
    .sort(ascending)
  const expunged = await withView(store, mailboxName, async (view) => {
    await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
    return await store.expunge({ view, uids })
  })
  await store.movingIn.forget(
    folder.id,
    gone.map(({ uid }) => uid)
  )
  return expunged.length
}

/**
 * @param {readonly string[]} before - at the source, in the run before
 * @param {readonly string[]} now - at the source
 * @returns {FlagChange}
 */
function changeOf(before, now) {
  return { added: lackingIn(before, now), removed: lackingIn(now, before) }
}

/**
 * @param {readonly string[]} some
 * @param {readonly string[]} others
 * @returns {string[]} of the others what is not among some; a keyword that is written otherwise is the same (RFC 9051 §2.3.2)
 */
function lackingIn(some, others) {
  const names = new Set(some.map((flag) => flag.toLowerCase()))
  return others.filter((flag) => !names.has(flag.toLowerCase()))
}

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {number[]} uids - ascending
 * @param {string[]} flags
 */
async function addFlags(store, view, uids, flags) {
  if (flags.length === 0) return
  try {
    await store.changeFlags({ view, uids, action: 'add', flags })
  } catch (error) {
    if (!isMailError(error, 'LIMIT')) throw error
    // The mailbox can hold no further keyword: the system flags are set without the keywords.
    await store.changeFlags({ view, uids, action: 'add', flags: systemFlags(flags) })
  }
}

/**
 * @template T
 * @param {AccountStore} store
 * @param {string} name
 * @param {(view: MailboxView) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withView(store, name, work) {
  const { view } = await store.openView(name)
  try {
    return await work(view)
  } finally {
    store.closeView(view)
  }
}

/**
 * @param {number} left
 * @param {number} right
 * @returns {number}
 */
const ascending = (left, right) => left - right
