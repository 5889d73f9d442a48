/**
 * The server as a whole, where one of its parts fails.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../config/load.js'
import { startServer } from '../../src/compose.js'
import { lockExclusive } from '../../src/database/lock.js'

test('a part that does not close keeps no other from closing', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-compose-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const off = ['imaps', 'lmtp', 'admin'].map((name) => [`${name}.listen`, 'off'])
  const config = loadConfig({
    settings: {
      data,
      'log.level': 'silent',
      'auth.argon2.memoryKiB': 19 * 1024,
      'imap.listen': '127.0.0.1:0',
      'imap.allowPlaintextLoopback': true,
      ...Object.fromEntries(off)
    },
    environment: {}
  })
  const server = await startServer({ config, makeFirstAccount: true, nightlyCommand: null })
  const { address = '', password = '' } = server.firstAccount ?? {}
  const client = createConnection(server.listeners[0]?.port ?? 0, '127.0.0.1')
  client.setEncoding('utf8')
  client.write(`a LOGIN ${address} "${password}"\r\n`)
  for (let said = ''; !said.includes('a OK');) said += String((await once(client, 'data'))[0])
  const domain = join(data, 'mail', address.split('@')[1] ?? '')
  const [name = ''] = await readdir(domain)
  await assert.rejects(lockExclusive(join(domain, name), { timeoutMs: 0 }), 'it is open')

  // The socket that backups ask at cannot be removed.
  await rename(join(data, 'run'), join(data, 'run-away'))
  await writeFile(join(data, 'run'), '')
  await assert.rejects(server.close(), /ENOTDIR/)
  const lock = await lockExclusive(join(domain, name), { timeoutMs: 0 })
  lock.release()
  client.destroy()
})
