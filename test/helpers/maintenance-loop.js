/**
 * A process that fills and empties a mailbox and runs the jobs of maintenance on it, again and again until it is killed:
 *
 *     maintenance-loop.js <account folder>
 *
 * The key is 32 bytes of 7. It sends a message once the jobs run.
 */
import { randomBytes } from 'node:crypto'
import { openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { appendOne, sweepAll } from './account-folder.js'

const [folder = ''] = process.argv.slice(2)
const store = await openAccountStore({ folder, key: Buffer.alloc(32, 7), clock: systemClock })
const head = Buffer.from('Subject: gone\r\nContent-Type: application/octet-stream\r\n\r\n')
const { view } = await store.openView('Junk')
for (let round = 0; ; round++) {
  for (let i = 0; i < 8; i++)
    await appendOne(store, 'Junk', Buffer.concat([head, randomBytes(150_000)]), ['\\Deleted'])
  await store.expunge({ view, uids: null })
  process.send?.('running')
  await sweepAll(store)
  await store.indexSearch()
  await store.upkeep.pruneExpunged({ beforeMs: systemClock.nowMs() })
  await store.upkeep.optimize()
  if (round % 2 === 0) await store.upkeep.vacuum()
  else await store.upkeep.releasePages()
  await store.checkpoint()
}
