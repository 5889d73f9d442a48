/**
 * A process that appends messages one after the other and prints a line for each that was acknowledged:
 *
 *     append-loop.js <account folder> <count>
 *
 * The key is 32 bytes of 7. The account is made when it is not there. Every third message is large, so that it is
 * staged; flags change and messages are expunged in between.
 */
import { existsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createAccountStore, openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { appendOne, makeMessage } from './account-folder.js'

const [folder = '', count = '1'] = process.argv.slice(2)
const options = { folder, key: Buffer.alloc(32, 7), clock: systemClock }
const isThere = existsSync(join(folder, 'mail.db'))
const store = isThere ? await openAccountStore(options) : await createAccountStore(options)
const { view } = await store.openView('INBOX')
writeSync(1, 'ready\n')
for (let i = 0; i < Number(count); i++) {
  const text = `${process.pid}-${i}`
  const uid = await appendOne(store, 'INBOX', makeMessage(text, i % 3 === 2 ? 700_000 : 0))
  writeSync(1, `ack ${uid} ${text}\n`)
  if (i % 5 === 4) {
    // Printed before the flag is set: from here on the message may be gone.
    writeSync(1, `flag ${uid - 1}\n`)
    await store.changeFlags({ view, uids: [uid - 1], action: 'add', flags: ['\\Deleted'] })
  }
  if (i % 10 === 9) {
    const gone = await store.expunge({ view, uids: null })
    writeSync(1, `gone ${gone.join()}\n`)
  }
}
await store.close()
