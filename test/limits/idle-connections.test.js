import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import { memoryIsUnreadable, residentBytes } from '../helpers/process-memory.js'
import { WireClient } from '../helpers/wire-client.js'

const CONNECTIONS = 1000
const ALLOWED_BYTES = 60_000
/** Time for timers, what handshakes leave behind, and the allocator to come to rest. */
const SETTLE_MS = 2000
const ENVIRONMENT = {
  LETTERLOCK_IMAP_MAX_CONNECTIONS_PER_ACCOUNT: String(CONNECTIONS * 2 + 10)
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{ isTls: boolean }} options
 * @returns {Promise<number>} bytes that one more connection costs: logged in, a mailbox selected, in IDLE
 */
async function costOfConnection(t, { isTls }) {
  const data = join(scratchFolder(t, 'idle'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['u1@example.org'])
  const server = await startServerProcess(t, { data, environment: ENVIRONMENT })
  const pid = Number(server.child.pid)
  /** @type {WireClient[]} */
  const clients = []
  t.after(() => clients.forEach((client) => client.destroy()))
  const open = async (/** @type {number} */ count) => {
    for (let index = 0; index < count; index++) {
      const client = await WireClient.connect(server.ports[isTls ? 'imaps' : 'imap'], { isTls })
      clients.push(client)
      // All but the first are recognised without another key derivation.
      await client.login('u1@example.org')
      await client.command('SELECT INBOX')
      client.send('i IDLE\r\n')
      await client.until(/^\+ .*\r\n/m)
    }
  }
  // The first ones pay for what is shared: compiled code, the open mailbox, the store's threads.
  await open(200)
  const [first] = clients
  first?.send('DONE\r\n')
  await first?.command('APPEND Archive', Buffer.alloc(6_000_000, 'filler\r\n'))
  await first?.command('SEARCH TEXT zebra')
  await sleep(SETTLE_MS)
  const before = residentBytes(pid)
  await open(CONNECTIONS)
  await sleep(SETTLE_MS)
  const each = (residentBytes(pid) - before) / CONNECTIONS
  t.diagnostic(`${(each / 1000).toFixed(1)} kB for each of ${CONNECTIONS}`)
  return each
}

test('an idle session costs little besides its socket', { skip: memoryIsUnreadable }, async (t) => {
  const each = await costOfConnection(t, { isTls: false })
  assert.ok(each < ALLOWED_BYTES, `${Math.round(each)} bytes`)
})

test('an idle session over TLS costs less than 60 kB', { skip: memoryIsUnreadable }, async (t) => {
  const each = await costOfConnection(t, { isTls: true })
  assert.ok(each < ALLOWED_BYTES, `${Math.round(each)} bytes`)
})
