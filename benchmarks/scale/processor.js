/**
 * Processor time of a server for what comes in every day, whatever else the machine is doing: `npx node
 * benchmarks/scale/processor.js`. A message has 4 kB. What 1,000 ms hold is what one core can bear at most.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WireClient, connectLmtp, deliverOver } from '../../test/helpers/wire-client.js'
import { createUsers, startLetterlock } from '../lib/letterlock-server.js'
import { processorSeconds } from '../lib/process-tree.js'

const USERS = 24
const MESSAGE = Buffer.from(
  `From: a@example.net\r\nSubject: a message\r\n\r\n${'some words of a letter and a line end\r\n'.repeat(100)}`
)
const userOf = (/** @type {number} */ n) => `u${1 + (n % USERS)}@localhost`

const folder = mkdtempSync(join(tmpdir(), 'letterlock-processor-'))
const data = join(folder, 'data')
await createUsers(data, USERS)
const server = await startLetterlock(data, join(folder, 'log'))

/**
 * @param {string} what
 * @param {number} count
 * @param {(n: number) => Promise<unknown>} work
 * @param {number} [settleMs] - what is done behind the answers counts as well
 */
async function measured(what, count, work, settleMs = 500) {
  const before = processorSeconds(server.pid)
  for (let n = 0; n < count; n += 8) {
    await Promise.all(Array.from({ length: Math.min(8, count - n) }, (_, k) => work(n + k)))
  }
  await sleep(settleMs)
  const ms = (1000 * (processorSeconds(server.pid) - before)) / count
  console.log(`| ${what} | ${ms.toPrecision(2)} ms | ${Math.round(1000 / ms)} |`)
}

try {
  const lmtp = await Promise.all(Array.from({ length: 8 }, () => connectLmtp(server.ports.lmtp)))
  const deliver = (/** @type {number} */ n) =>
    deliverOver(/** @type {WireClient} */ (lmtp[n % 8]), { to: userOf(n), message: MESSAGE })
  await measured('LMTP, warming up', 400, deliver)
  await measured('LMTP to a mailbox that is locked', 2000, deliver)
  /** @type {WireClient[]} */
  const clients = []
  const logIn = async (/** @type {number} */ n) => {
    const client = await WireClient.connect(server.ports.imaps, { isTls: true })
    await client.login(userOf(n))
    clients.push(client)
  }
  await measured(
    'login over TLS with a password, 100 messages waiting in the spool',
    USERS,
    logIn,
    15_000
  )
  await measured('login over TLS, the mailbox is open', 200, logIn)
  for (const client of clients) await client.command('SELECT INBOX')
  await measured('LMTP to a mailbox that is open, read and indexed', 2000, deliver, 15_000)
  const append = (/** @type {number} */ n) =>
    /** @type {WireClient} */ (clients[n % USERS]).command('APPEND INBOX', MESSAGE)
  await measured('APPEND, indexed', 2000, append, 15_000)
  await measured('FETCH of a message', 4000, (n) =>
    /** @type {WireClient} */ (clients[n % USERS]).command(`FETCH ${1 + (n % 100)} BODY.PEEK[]`)
  )
  for (const client of [...clients, ...lmtp]) client.destroy()
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
