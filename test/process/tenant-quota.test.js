import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient, deliver } from '../helpers/wire-client.js'

const QUOTA_BYTES = 100_000
const message = (/** @type {number} */ bytes) =>
  Buffer.from(`Subject: x\r\n\r\n${'x'.repeat(bytes)}\r\n`)

test('the accounts of a tenant share its quota: what one has taken the other cannot, by APPEND or by LMTP', async (t) => {
  const data = join(scratchFolder(t, 'tenant-quota'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['a@one.test', 'b@one.test', 'c@two.test'])
  const set = await letterlock(['tenant', 'set', 'one.test', '--quota', '100kB', '--data', data])
  assert.equal(set.code, 0, set.stderr)
  const server = await startServerProcess(t, { data })
  const logIn = async (/** @type {string} */ user) => {
    const client = await WireClient.connect(server.ports.imap)
    t.after(() => client.destroy())
    await client.login(user)
    return client
  }
  const [a, b, c] = await Promise.all(['a@one.test', 'b@one.test', 'c@two.test'].map(logIn))
  assert.ok(a && b && c)
  assert.match(await a.command('APPEND INBOX', message(60_000)), /OK \[APPENDUID/)

  // The sum is that of some seconds ago: each try that is still taken is small.
  let taken = 0
  for (let answer = ''; !answer.includes('NO [OVERQUOTA]');) {
    answer = await b.command('APPEND INBOX', message(45_000))
    if (answer.includes('OK [APPENDUID')) taken++
    assert.ok(taken <= 1, 'more than a tenant’s quota was taken, long after it was full')
    await sleep(15_000)
  }
  assert.match(await b.command('APPEND INBOX', message(QUOTA_BYTES)), /NO \[OVERQUOTA\]/)
  const reply = await deliver(server.ports.lmtp, { to: 'b@one.test', message: message(45_000) })
  assert.match(reply, /^452 4\.2\.2/)
  // Another tenant has nothing to do with it.
  assert.match(await c.command('APPEND INBOX', message(60_000)), /OK \[APPENDUID/)
  assert.match(
    await deliver(server.ports.lmtp, { to: 'c@two.test', message: message(60_000) }),
    /^250/
  )
  // What the one gives back the other may take.
  await a.command('SELECT INBOX')
  await a.command('STORE 1:* +FLAGS.SILENT (\\Deleted)')
  await a.command('EXPUNGE')
  let answer = ''
  for (let tries = 0; tries < 60 && !answer.includes('OK [APPENDUID'); tries++) {
    await sleep(1000)
    answer = await b.command('APPEND INBOX', message(20_000))
  }
  assert.match(answer, /OK \[APPENDUID/)
})
