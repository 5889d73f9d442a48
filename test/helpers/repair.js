/**
 * A mailbox that is to be repaired, and all that is in one.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { repairMailFile } from '../../src/store/salvage/repair-file.js'
import { fileOptions } from '../../src/store/port/options.js'
import { systemClock } from '../../src/support/clock.js'
import { accountFolder, aliveUids, appendOne, makeMessage, readBytes } from './account-folder.js'

/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */

/** @param {import('node:test').TestContext} t */
export async function setUp(t) {
  const account = await accountFolder(t)
  const path = join(account.folder, 'mail.db')
  const repair = (how = {}) =>
    repairMailFile(fileOptions({ folder: account.folder, key: account.key, clock: systemClock }), {
      timeoutMs: 0,
      ...how
    })
  return { ...account, path, repair }
}

/**
 * @param {AccountStore} store
 * @returns {Promise<Map<string, { bytes: Buffer, flags: number, modSeq: number }>>} every message by mailbox and UID
 */
export async function everything(store) {
  const all = new Map()
  for (const { name } of await store.listMailboxes()) {
    const { view } = await store.openView(name)
    for (const uid of aliveUids(view)) {
      const slot = view.slotOf(uid)
      all.set(`${name} ${uid}`, {
        bytes: await readBytes(store, view, uid),
        flags: view.flags[slot],
        modSeq: view.modSeqs[slot]
      })
    }
    store.closeView(view)
  }
  return all
}

/**
 * Small and large messages in several mailboxes, with flags, copies and expunges.
 *
 * @param {AccountStore} store
 */
export async function fill(store) {
  await store.createMailbox('Work/Old')
  for (let i = 1; i <= 30; i++) {
    const bytes = Buffer.concat([makeMessage(`text ${i}`), randomBytes(i % 6 === 0 ? 9000 : 300)])
    await appendOne(store, i % 3 === 0 ? 'Work/Old' : 'INBOX', bytes, [i % 2 ? '\\Seen' : 'tag'])
  }
  const { view } = await store.openView('INBOX')
  await store.copyMessages({ from: view, uids: [1, 2, 3], toMailbox: 'Archive' })
  await store.changeFlags({ view, uids: [4, 5], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  await store.setSubscribed('Work/Old', true)
  await store.upkeep.sweep()
  await store.indexSearch()
  await store.checkpoint()
}
