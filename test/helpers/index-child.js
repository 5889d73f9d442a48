/**
 * Indexes the mail of an account until it is killed: `index-child.js <folder> <key in hexadecimal>`. Sends a message
 * when a part is done.
 */
import { openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { pendingCount } from './index-oracle.js'

const [folder = '', key = ''] = process.argv.slice(2)
const store = await openAccountStore({
  folder,
  key: Buffer.from(key, 'hex'),
  clock: systemClock
})
const left = () => pendingCount(store)
const before = await left()
const timer = setInterval(async () => {
  if ((await left()) === before) return
  clearInterval(timer)
  process.send?.('some')
}, 5)
await store.indexSearch()
clearInterval(timer)
process.send?.('all')
await store.close()
process.disconnect()
