import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { loadConfig } from '../../config/load.js'
import { openAccountServices } from '../../src/accounts/services.js'
import { Sealer } from '../../src/crypto/age.js'
import { publicKeyOf } from '../../src/crypto/hybrid-kem.js'
import { deriveSealKey } from '../../src/crypto/key-derivation.js'
import { associatedData, unwrapKey } from '../../src/crypto/key-wrap.js'
import { systemClock } from '../../src/support/clock.js'
import { deliver } from '../helpers/change-keys.js'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import { countInMemory, memoryIsUnreadable } from '../helpers/process-memory.js'
import { WireClient } from '../helpers/wire-client.js'

const PASSWORD = 'Zanzibar-quagga-0815'
const USERS = ['line', 'pieces', 'literal', 'plain'].map((name) => `${name}@example.org`)
const [LINE = '', PIECES = '', LITERAL = '', PLAIN = ''] = USERS

/**
 * @param {Buffer} seed - of a seal identity
 * @returns {Buffer[]} the beginning of ML-KEM's seed, and the key of X25519
 */
function expandedKeys(seed) {
  const expanded = hash('shake256', seed, { outputLength: 96, outputEncoding: 'buffer' })
  return [expanded.subarray(0, 32), expanded.subarray(64)]
}

/**
 * @param {string} data
 * @returns {Promise<{ keys: Buffer[], sealKeys: Buffer[] }>} the master keys of all users, and what opens the sealed mail of
 *   one: the seed, and of what it expands to the keys of ML-KEM and X25519; for each user some waits
 */
async function keysOf(data) {
  const services = await openAccountServices({
    config: loadConfig({ settings: { data, 'auth.argon2.memoryKiB': 19 * 1024 }, environment: {} }),
    clock: systemClock,
    logger: pino({ level: 'silent' })
  })
  const keys = []
  /** @type {Buffer[]} of the last of them */
  let sealKeys = []
  for (const username of USERS) {
    const password = Buffer.from(PASSWORD)
    const { account, masterKey } = await services.unlocker.unlock({
      username,
      password,
      remoteAddress: null
    })
    keys.push(Buffer.from(masterKey.bytes))
    const [row] = await services.directory.listSealIdentities(account.id)
    assert.ok(row)
    const { number, recipient, keyEpoch, wrappedSecret: wrapped } = row
    const associated = associatedData('seal identity', [account.id, number, recipient, keyEpoch])
    const kek = deriveSealKey(masterKey.bytes)
    const seed = Buffer.from(unwrapKey({ kek, wrapped, associated }).bytes)
    sealKeys = [seed, ...expandedKeys(seed)]
    masterKey.dispose()
    await deliver(account)
  }
  await services.close()
  return { keys, sealKeys }
}

test(
  'of mailboxes that are closed neither a key nor a password is left in the memory of the server',
  { skip: memoryIsUnreadable },
  async (t) => {
    const data = join(scratchFolder(t, 'memory-secrecy'), 'data')
    mkdirSync(data)
    await createAccounts(data, USERS, PASSWORD)
    const { keys, sealKeys } = await keysOf(data)
    const environment = { LETTERLOCK_ACCOUNTS_LINGER_MS: '0' }
    const server = await startServerProcess(t, { data, environment })
    const pid = Number(server.child.pid)
    const message = Buffer.from(`\0${PLAIN}\0${PASSWORD}`).toString('base64')
    const needles = [...keys, ...sealKeys, Buffer.from(PASSWORD), Buffer.from(message)]

    /** @type {((client: WireClient) => unknown)[]} */
    const logins = [
      (client) => client.send(`a LOGIN ${LINE} ${PASSWORD}\r\n`),
      async (client) => {
        client.send(`a LOGIN ${PIECES} ${PASSWORD}`)
        await sleep(50)
        client.send('\r\n')
      },
      (client) => client.send(`a LOGIN ${LITERAL} {${PASSWORD.length}+}\r\n${PASSWORD}\r\n`),
      (client) => client.send(`a AUTHENTICATE PLAIN ${message}\r\n`)
    ]
    const clients = await Promise.all(
      logins.map(async (logIn) => {
        const client = await WireClient.connect(server.ports.imap)
        t.after(() => client.destroy())
        await logIn(client)
        assert.match(await client.until(/^a .*\r\n/m), /^a OK/m)
        return client
      })
    )
    const open = countInMemory(pid, needles)
    assert.deepEqual(
      open.slice(0, keys.length).map((count) => count > 0),
      keys.map(() => true),
      'the keys of open mailboxes are found'
    )
    for (const client of clients) await client.command('LOGOUT')
    const health = `http://127.0.0.1:${server.ports.admin}/health/ready`
    const openMailboxes = async () =>
      /** @type {{ openMailboxes: number }} */ (await (await fetch(health)).json()).openMailboxes
    while ((await openMailboxes()) > 0) await sleep(20)
    // A mailbox counts as closed from the moment at which nobody gets it any more. Looked for too long, what was left would go
    // by itself, when the garbage collector comes by.
    let counts = countInMemory(pid, needles)
    for (let tries = 0; tries < 3 && counts.some((count) => count > 0); tries++) {
      await sleep(1_000)
      counts = countInMemory(pid, needles)
    }
    assert.deepEqual(
      counts,
      needles.map(() => 0)
    )
  }
)

/**
 * Opens a file sealed for the seed that stands before it on standard input, does much else while it has the identity, lets go
 * of that, and says so when what has died young was collected.
 */
const OPENER = `
  import { buffer } from 'node:stream/consumers'
  import { setTimeout as sleep } from 'node:timers/promises'
  import { Opener, identityFromSecret } from './src/crypto/age.js'
  const input = await buffer(process.stdin)
  const identity = identityFromSecret(input.subarray(0, 32))
  const opener = new Opener([identity])
  const opened = [...opener.push(input.subarray(32)), ...opener.end()]
  let piece
  const collect = async () => {
    for (let round = 0; round < 4; round++) {
      for (let pieces = 0; pieces < 400; pieces++) piece = new Array(8_000)
      await sleep(1)
    }
  }
  await collect()
  identity.destroy()
  await sleep(200)
  await collect()
  process.stdout.write(Buffer.concat(opened))
  setInterval(() => piece, 1_000)
`

test(
  'what a seed expands to is not kept from one file to the next: living on, it would stay long after the mailbox is closed',
  { skip: memoryIsUnreadable },
  async (t) => {
    const seed = randomBytes(32)
    const sealer = new Sealer(publicKeyOf(seed))
    const sealed = [sealer.start(), ...sealer.push(Buffer.from('opened')), ...sealer.end()]
    const child = spawn(process.execPath, ['--input-type=module', '--eval', OPENER], {
      stdio: ['pipe', 'pipe', 'inherit']
    })
    t.after(() => child.kill('SIGKILL'))
    child.stdin.end(Buffer.concat([seed, ...sealed]))
    const [opened] = await once(child.stdout, 'data')
    assert.equal(String(opened), 'opened')
    assert.deepEqual(countInMemory(Number(child.pid), expandedKeys(seed)), [0, 0])
  }
)
