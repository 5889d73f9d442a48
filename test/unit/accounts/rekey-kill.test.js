import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTestAccounts, logIn, makeAccount, withStore } from '../../helpers/accounts.js'
import { appendAll } from '../../helpers/temporary-store.js'

const ROUNDS = process.env['LETTERLOCK_TEST_TORTURE'] ? 100 : 6
const url = (/** @type {string} */ path) => new URL(`../../../${path}`, import.meta.url).href

/** Rekeys one account again and again until it is killed. */
const SCRIPT = `
  import { loadConfig } from '${url('config/load.js')}'
  import { openAccountServices } from '${url('src/accounts/services.js')}'
  import { rekeyAccount } from '${url('src/accounts/rekey.js')}'
  import { createLogger } from '${url('src/telemetry/logger.js')}'
  const settings = { data: process.argv[1], 'auth.argon2.memoryKiB': 19456, defaultDomain: 'example.org' }
  const services = await openAccountServices({
    config: loadConfig({ settings, environment: {} }),
    clock: { nowMs: () => Date.now() },
    logger: createLogger({ level: 'silent' })
  })
  process.stdout.write('ready')
  for (;;) {
    const account = await services.directory.findByAddress('anna')
    await rekeyAccount({ services, account, password: Buffer.from('old secret') })
    process.stdout.write('rekeyed')
  }`

test('kill -9 at any moment of a rekey loses no mail and no way in', async (t) => {
  const { services, data } = await openTestAccounts(t, { 'auth.repeatLoginCache': false })
  await makeAccount(services)
  const first = await logIn(services, 'old secret')
  const bytes = Buffer.from(`Subject: x\r\n\r\n${'line of mail\r\n'.repeat(2000)}`)
  await withStore(services, first.account, first.masterKey, (store) =>
    appendAll(store, 'INBOX', Array(20).fill({ bytes }))
  )
  first.masterKey.dispose()
  let epoch = 1
  for (let round = 0; round < ROUNDS; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, data], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    // Killed in the first rekey, or in the one after it.
    if (round % 3 === 0) await once(child.stdout, 'data')
    await sleep(20 + ((round * 37) % 200))
    child.kill('SIGKILL')
    await closed
    const { account, masterKey } = await logIn(services, 'old secret')
    const count = await withStore(services, account, masterKey, async (store) => {
      const result = await store.verify()
      assert.deepEqual(result.problems, [])
      return (await store.usage()).messages
    })
    masterKey.dispose()
    assert.equal(count, 20)
    assert.ok(account.keyEpoch >= epoch)
    epoch = account.keyEpoch
  }
  assert.ok(epoch > 1, 'some of the rekeys came to their end')
})
