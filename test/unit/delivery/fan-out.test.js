import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateSealIdentity } from '../../../src/crypto/age.js'
import { fanOut } from '../../../src/delivery/fan-out.js'
import { listSpool } from '../../../src/delivery/spool.js'
import { scratchFolder } from '../../helpers/account-folder.js'

test('a message for many recipients is sealed for a few of them at a time', async (t) => {
  const folder = await scratchFolder(t)
  const { publicKey } = generateSealIdentity()
  let sealed = 0
  const work = () => {
    sealed++
    const startedMs = performance.now()
    while (performance.now() - startedMs < 1);
  }
  const destinations = Array.from({ length: 100 }, (_, n) => {
    const spoolFolder = join(folder, String(n), 'spool')
    mkdirSync(spoolFolder, { recursive: true })
    return {
      spoolFolder,
      get publicKey() {
        work()
        return publicKey
      },
      envelope: { recipient: `user${n}@example.org`, sender: '', receivedAtMs: 1 },
      headers: Buffer.from('X-Number: 1\r\n')
    }
  })
  let most = 0
  let before = 0
  const watch = () => {
    most = Math.max(most, sealed - before)
    before = sealed
    watching = setImmediate(watch)
  }
  let watching = setImmediate(watch)
  async function* message() {
    yield Buffer.from('\r\nhello\r\n')
  }
  const outcomes = await fanOut({
    destinations,
    message: message(),
    maxBytes: 1000,
    beforeFinish: async () => work(),
    onAbortFailed: assert.ifError
  })
  clearImmediate(watching)
  assert.deepEqual(
    outcomes.map(({ destination, error }) => [destination, error]),
    destinations.map((destination) => [destination, null])
  )
  for (const { spoolFolder } of destinations) assert.equal((await listSpool(spoolFolder)).length, 1)
  assert.equal(sealed, 200)
  assert.ok(most <= 20, `${most} in a turn`)
})
