/**
 * A process that deletes so many messages that they are swept away in a thread:
 *
 *     sweep-much.js <new account folder> <count>
 *
 * The key is 32 bytes of 7; each message has 500 kB.
 */
import { createAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { appendOne, makeMessage, sweepAll } from './account-folder.js'

const [folder = '', count = '1'] = process.argv.slice(2)
const store = await createAccountStore({ folder, key: Buffer.alloc(32, 7), clock: systemClock })
const { view } = await store.openView('INBOX')
for (let i = 0; i < Number(count); i++)
  await appendOne(store, 'INBOX', makeMessage(`${i}`, 500_000))
await store.changeFlags({ view, uids: [...view.uids], action: 'add', flags: ['\\Deleted'] })
await store.expunge({ view, uids: null })
await sweepAll(store)
await store.close()
