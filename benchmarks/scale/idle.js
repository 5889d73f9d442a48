/**
 * What do many sessions cost that say nothing? `npx node benchmarks/scale/idle.js 200 1000`: processor time of a server with
 * so many sessions in IDLE, each with an account of its own, and how long somebody else who says NOOP is kept waiting.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ImapClient } from '../lib/imap-client.js'
import { createUsers, startLetterlock } from '../lib/letterlock-server.js'
import { processorSeconds } from '../lib/process-tree.js'
import { now } from '../lib/question.js'
import { percentile } from '../lib/statistics.js'

/** What a login leaves behind is done by then: maintenance looks at each mailbox once. */
const SETTLE_MS = 30_000
const MEASURED_MS = 30_000
const NOOP_EVERY_MS = 5

/** One client for all of them, and the cheapest key derivation: neither is asked about. */
const SETTINGS = {
  LETTERLOCK_LIMITS_EXEMPT_ADDRESSES: '127.0.0.1/32',
  LETTERLOCK_AUTH_ARGON2_MEMORY_KIB: String(19 * 1024)
}

const counts = process.argv.slice(2).map(Number)

console.log(
  '| sessions in IDLE | processor time a second | NOOP of another: median | 99 of 100 | longest |\n| --- | --- | --- | --- | --- |'
)
for (const count of counts.length > 0 ? counts : [200, 1000]) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-idle-'))
  const data = join(folder, 'data')
  await createUsers(data, count + 1, SETTINGS)
  const server = await startLetterlock(data, join(folder, 'log'), SETTINGS)
  try {
    await measure(server, count)
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {import('../lib/letterlock-server.js').RunningServer} server
 * @param {number} count
 */
async function measure(server, count) {
  const logIn = async (/** @type {number} */ user) => {
    const client = await ImapClient.connect({ host: '127.0.0.1', port: server.ports.imap })
    await client.login(`u${user}`, 'pass')
    await client.run('SELECT INBOX')
    return client
  }
  const clients = []
  for (let user = 1; user <= count; user++) {
    const client = await logIn(user)
    client.write('i IDLE\r\n')
    clients.push(client)
  }
  const other = await logIn(count + 1)
  await sleep(SETTLE_MS)
  const before = processorSeconds(server.pid)
  const start = now()
  await sleep(MEASURED_MS)
  const share = (1000 * (processorSeconds(server.pid) - before)) / ((now() - start) / 1000)

  /** @type {number[]} */
  const waits = []
  for (const noopStart = now(); now() - noopStart < MEASURED_MS;) {
    waits.push((await other.run('NOOP')).ms)
    await sleep(NOOP_EVERY_MS)
  }
  for (const client of clients) {
    client.write('DONE\r\n')
    await client.waitFor((tail) => /^i OK /m.test(tail))
  }
  const ms = (/** @type {number} */ part) => `${percentile(waits, part).toFixed(1)} ms`
  console.log(`| ${count} | ${share.toFixed(1)} ms | ${[ms(0.5), ms(0.99), ms(1)].join(' | ')} |`)
  for (const client of [...clients, other]) client.close()
}
