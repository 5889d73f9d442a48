/**
 * A process that has a mailbox open, as the server has: it answers backups, and appends messages all the time.
 *
 *     backup-owner.js <account folder> <run folder> <account id>
 *
 * The key is 32 bytes of 7. Prints a line for each message that was acknowledged.
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { listenForBackups } from '../../src/backup/owner-listener.js'
import { openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { createLogger } from '../../src/telemetry/logger.js'
import { appendOne, makeMessage } from './account-folder.js'

const [folder = '', runFolder = '', accountId = ''] = process.argv.slice(2)
const store = await openAccountStore({
  folder,
  key: Buffer.alloc(32, 7),
  clock: systemClock,
  config: { checkpointBytes: 256 * 1024 }
})
await listenForBackups({
  runFolder,
  findStore: async (id) => (id === accountId ? store : null),
  closeMailbox: async () => {},
  ring: () => {},
  logger: createLogger({ level: 'silent' })
})
writeSync(1, 'ready\n')
for (let i = 0; ; i++) {
  const text = `${process.pid}-${i}`
  const uid = await appendOne(store, 'INBOX', makeMessage(text, i % 4 === 3 ? 400_000 : 3_000))
  writeSync(1, `ack ${uid} ${text}\n`)
  await sleep(2)
}
