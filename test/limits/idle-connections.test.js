import assert from 'node:assert/strict'
import { globSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CompressedClient } from '../helpers/compressed-client.js'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import { memoryIsUnreadable, residentBytes } from '../helpers/process-memory.js'
import { WireClient } from '../helpers/wire-client.js'

const CONNECTIONS = 1000
/** Time for timers, what handshakes leave behind, inflaters that are let go, and the allocator to come to rest. */
const SETTLE_MS = 5000
const ENVIRONMENT = {
  LETTERLOCK_IMAP_MAX_CONNECTIONS_PER_ACCOUNT: String(CONNECTIONS * 2 + 10)
}

/**
 * @param {number} port
 * @param {{ isTls: boolean, isCompressed: boolean }} how
 * @returns {Promise<{ wire: WireClient, client: WireClient | CompressedClient }>} logged in, a mailbox selected, in IDLE
 */
async function openIdle(port, { isTls, isCompressed }) {
  const wire = await WireClient.connect(port, { isTls })
  // All but the first are recognised without another key derivation.
  await wire.login('u1@example.org')
  if (isCompressed) assert.match(await wire.command('COMPRESS DEFLATE'), / OK /)
  const client = isCompressed ? new CompressedClient(wire) : wire
  await client.command('SELECT INBOX')
  client.send('i IDLE\r\n')
  await client.until(/^\+ .*\r\n/m)
  return { wire, client }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{ isTls: boolean, isCompressed: boolean }} how
 * @returns {Promise<number>} what a session costs a new server, bytes
 */
async function costOfEach(t, { isTls, isCompressed }) {
  const data = join(scratchFolder(t, 'idle'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['u1@example.org'])
  const server = await startServerProcess(t, { data, environment: ENVIRONMENT })
  const pid = Number(server.child.pid)
  /** @type {Awaited<ReturnType<typeof openIdle>>[]} */
  const opened = []
  const open = async (/** @type {number} */ count) => {
    const port = server.ports[isTls ? 'imaps' : 'imap']
    for (let left = count; left > 0; left--)
      opened.push(await openIdle(port, { isTls, isCompressed }))
  }
  try {
    // The first ones pay for what is shared: compiled code, the open mailbox, the store's threads.
    await open(200)
    const client = opened[0]?.client
    client?.send('DONE\r\n')
    await client?.command('APPEND Archive', Buffer.alloc(6_000_000, 'filler\r\n'))
    await client?.command('SEARCH TEXT zebra')
    // The last of these threads empties the log once the mailbox has been left alone for some seconds.
    const [log] = globSync('mail/*/*/mail.db-wal', { cwd: data })
    assert.ok(log)
    while (statSync(join(data, log)).size > 0) await sleep(100)
    await sleep(SETTLE_MS)
    const before = residentBytes(pid)
    await open(CONNECTIONS)
    await sleep(SETTLE_MS)
    return (residentBytes(pid) - before) / CONNECTIONS
  } finally {
    for (const { wire } of opened) wire.destroy()
    await server.kill()
  }
}

for (const { how, isTls, isCompressed = false, allowedBytes } of [
  { how: 'over a plain socket', isTls: false, allowedBytes: 25_000 },
  { how: 'over TLS', isTls: true, allowedBytes: 60_000 },
  { how: 'over TLS and compressed', isTls: true, isCompressed: true, allowedBytes: 90_000 }
]) {
  test(
    `an idle session ${how} costs less than ${allowedBytes / 1000} kB`,
    { skip: memoryIsUnreadable },
    async (t) => {
      let each = Infinity
      // When garbage is collected differs from server to server; what a session costs is in each of them.
      for (let tries = 0; tries < 3 && each >= allowedBytes; tries++) {
        each = await costOfEach(t, { isTls, isCompressed })
        t.diagnostic(`${(each / 1000).toFixed(1)} kB for each of ${CONNECTIONS}`)
      }
      assert.ok(each < allowedBytes, `${Math.round(each)} bytes`)
    }
  )
}
