/**
 * The server as a whole, where one of its parts fails.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../config/load.js'
import { deleteAccount } from '../../src/accounts/remove-account.js'
import { openAccountServices } from '../../src/accounts/services.js'
import { startServer } from '../../src/compose.js'
import { lockExclusive } from '../../src/database/lock.js'
import { systemClock } from '../../src/support/clock.js'
import { createLogger } from '../../src/telemetry/logger.js'

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<string>} a new data folder
 */
async function newDataFolder(t) {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-compose-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  return data
}

/**
 * @param {string} data
 * @param {Record<string, unknown>} [settings]
 */
function configOf(data, settings = {}) {
  const off = ['imaps', 'lmtp', 'admin'].map((name) => [`${name}.listen`, 'off'])
  return loadConfig({
    settings: {
      data,
      'log.level': 'silent',
      'auth.argon2.memoryKiB': 19 * 1024,
      'imap.listen': '127.0.0.1:0',
      'imap.allowPlaintextLoopback': true,
      ...Object.fromEntries(off),
      ...settings
    },
    environment: {}
  })
}

/** @param {import('../../config/load.js').Config} config */
const startWatched = (config) =>
  startServer({ config, makeFirstAccount: true, nightlyCommand: null })

/**
 * @param {import('../../config/load.js').Config} config
 * @returns {Promise<{ address: string | undefined, hasAccounts: boolean }>} of its first account; of all
 */
async function runWatched(config) {
  const { firstAccount, hasAccounts, close } = await startWatched(config)
  await close()
  return { address: firstAccount?.address, hasAccounts }
}

test('the first account waits for a start that succeeds, and is not made again once it was deleted', async (t) => {
  const data = await newDataFolder(t)
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (other.address())
  const socket = join(data, 'nowhere', 'admin.sock')
  await assert.rejects(startWatched(configOf(data, { 'lmtp.listen': `127.0.0.1:${port}` })), {
    code: 'ADDRESS_IN_USE'
  })
  await assert.rejects(startWatched(configOf(data, { 'admin.socket': socket })), {
    code: 'CONFIG_INVALID'
  })

  const config = configOf(data)
  assert.deepEqual(await runWatched(config), { address: 'me@localhost', hasAccounts: true })
  const logger = createLogger({ level: 'silent' })
  const services = await openAccountServices({ config, clock: systemClock, logger })
  const [account] = await services.directory.listAccounts()
  assert.ok(account)
  await deleteAccount({ services, account })
  await services.close()
  assert.deepEqual(await runWatched(config), { address: undefined, hasAccounts: false })
})

test('a server that nobody could reach does not start', async (t) => {
  const data = await newDataFolder(t)
  await assert.rejects(startWatched(configOf(data, { 'imap.listen': 'off' })), {
    code: 'CONFIG_INVALID',
    detail: /^every listener is off/
  })
  const file = join(data, 'file')
  await writeFile(file, '')
  await assert.rejects(startWatched(configOf(data, { 'admin.socket': file })), {
    code: 'CONFIG_INVALID',
    detail: `${file} is no socket, and stays as it is`
  })
})

test('the password of the first account is told also where there is no room for a letter in it', async (t) => {
  const config = configOf(await newDataFolder(t), { 'accounts.quotaBytes': 1 })
  assert.deepEqual(await runWatched(config), { address: 'me@localhost', hasAccounts: true })
})

test('a part that does not close keeps no other from closing', async (t) => {
  const data = await newDataFolder(t)
  const server = await startWatched(configOf(data))
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
