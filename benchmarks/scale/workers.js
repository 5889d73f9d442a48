/**
 * Processor time of an operation with one, two and four workers, all of them together: `npx node
 * benchmarks/scale/workers.js [ROUNDS]`. Beside them four servers of one worker, each with a quarter of the users, that know
 * nothing of each other: what four busy processes cost on this machine whatever they have to say to each other. All stand side
 * by side and are measured in turn, so that whatever else the machine does meets all of them. A message has 4 kB.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startCluster } from '../../test/helpers/cluster.js'
import { createAccounts } from '../../test/helpers/process.js'
import { WireClient, connectLmtp, deliverOver } from '../../test/helpers/wire-client.js'
import { processorSeconds } from '../lib/process-tree.js'

const ROUNDS = Number(process.argv[2] ?? 3)
const CONTENDERS = [
  { name: '1 worker', servers: 1, workers: 1 },
  { name: '2 workers', servers: 1, workers: 2 },
  { name: '4 workers', servers: 1, workers: 4 },
  { name: '4 servers', servers: 4, workers: 1 }
]
/** In each setting; so the users are 40 or 8. */
const SESSIONS = 40
const MESSAGES = 50
const MESSAGE = Buffer.from(
  `From: a@example.net\r\nSubject: a message\r\n\r\n${'some words of a letter and a line end\r\n'.repeat(100)}`
)
const SETTINGS = [false, true].flatMap((isTls) =>
  [1, 5].map((perUser) => ({ isTls, perUser, users: SESSIONS / perUser }))
)

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {number} workers - of all its servers
 * @property {import('../../test/helpers/cluster.js').Cluster[]} servers
 * @property {{ client: WireClient, user: string }[]} sessions
 * @property {WireClient[]} lmtp
 *
 * @typedef {object} Operation
 * @property {string} name
 * @property {number} count - of one measurement
 * @property {number} settleMs - what is done behind the answers counts as well
 * @property {(client: WireClient, step: number, contender: Contender, nth: number) => Promise<unknown>} run
 */

const fetchOne = (/** @type {WireClient} */ client, /** @type {number} */ step) =>
  client.command(`FETCH ${1 + (step % MESSAGES)} BODY.PEEK[]`)
const storeOne = (/** @type {WireClient} */ client, /** @type {number} */ step) =>
  client.command(
    `STORE ${1 + (step % MESSAGES)} ${step % 2 === 0 ? '+' : '-'}FLAGS.SILENT (\\Flagged)`
  )
const appendOne = (/** @type {WireClient} */ client) => client.command('APPEND INBOX', MESSAGE)

/** @type {Operation[]} */
const OPERATIONS = [
  { name: 'NOOP', count: 16_000, settleMs: 0, run: (client) => client.command('NOOP') },
  { name: 'FETCH of a message', count: 8_000, settleMs: 0, run: fetchOne },
  { name: 'STORE of a flag', count: 4_000, settleMs: 0, run: storeOne },
  { name: 'APPEND, indexed', count: 1_200, settleMs: 1_000, run: appendOne },
  {
    name: 'LMTP, FETCH, STORE and APPEND in turn',
    count: 2_000,
    settleMs: 1_000,
    run: async (client, step, { lmtp, sessions }, nth) => {
      if (step % 4 === 1) return await fetchOne(client, step)
      if (step % 4 === 2) return await storeOne(client, step)
      if (step % 4 === 3) return await appendOne(client)
      const to = sessions[nth]?.user ?? ''
      return await deliverOver(/** @type {WireClient} */ (lmtp[nth]), { to, message: MESSAGE })
    }
  }
]

/**
 * @param {Contender} contender
 * @param {number} nth - session; those of one user are at one server
 */
const portsOf = ({ servers }, nth) =>
  /** @type {import('../../test/helpers/cluster.js').Cluster} */ (servers[nth % servers.length])
    .ports

/**
 * @param {Contender} contender
 * @returns {number} seconds of processor time until now
 */
const secondsOf = ({ servers }) => servers.reduce((sum, { pid }) => sum + processorSeconds(pid), 0)

/**
 * @param {string} answer
 * @param {string} name
 */
function requireGood(answer, name) {
  if (!/^(w\d+ OK|250 )/m.test(answer)) throw new Error(`${name}: ${answer.slice(0, 500)}`)
}

/**
 * @param {Contender} contender
 * @param {Operation} operation
 * @param {number} count
 */
async function work(contender, { name, run }, count) {
  const { sessions } = contender
  const steps = Math.ceil(count / sessions.length)
  await Promise.all(
    sessions.map(async ({ client }, nth) => {
      for (let step = 0; step < steps; step++) {
        requireGood(String(await run(client, step + nth, contender, nth)), name)
      }
    })
  )
  return steps * sessions.length
}

/**
 * @param {Contender} contender
 * @param {Operation} operation
 * @returns {Promise<number>} ms of processor time for one
 */
async function measure(contender, operation) {
  const before = secondsOf(contender)
  const done = await work(contender, operation, operation.count)
  await sleep(operation.settleMs)
  return (1000 * (secondsOf(contender) - before)) / done
}

/**
 * @param {Contender} contender
 * @param {{ isTls: boolean, perUser: number, users: number }} setting
 */
async function connect(contender, { isTls, perUser, users }) {
  const label = `${isTls ? 't' : 'p'}${perUser}`
  for (let first = 0; first < SESSIONS; first += 8) {
    const some = Array.from({ length: 8 }, async (_, n) => {
      const user = `${label}-${(first + n) % users}@example.org`
      const { imap, imaps } = portsOf(contender, first + n)
      const client = await WireClient.connect(isTls ? imaps : imap, { isTls })
      await client.login(user)
      return { client, user }
    })
    contender.sessions.push(...(await Promise.all(some)))
  }
  for (const { client } of contender.sessions.slice(0, users)) {
    await Promise.all(Array.from({ length: MESSAGES }, () => appendOne(client)))
  }
  for (const { client } of contender.sessions) await client.command('SELECT INBOX')
  contender.lmtp = await Promise.all(
    contender.sessions.map((_, nth) => connectLmtp(portsOf(contender, nth).lmtp))
  )
}

/** @param {Contender} contender */
function disconnect(contender) {
  for (const { client } of contender.sessions.splice(0)) client.destroy()
  for (const client of contender.lmtp.splice(0)) client.destroy()
}

/**
 * @param {number[]} values
 * @returns {number}
 */
const medianOf = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const folder = mkdtempSync(join(tmpdir(), 'letterlock-workers-'))
/** @type {Contender[]} */
const contenders = []
try {
  const names = SETTINGS.flatMap(({ isTls, perUser, users }) =>
    Array.from({ length: users }, (_, n) => `${isTls ? 't' : 'p'}${perUser}-${n}@example.org`)
  )
  for (const { name, servers, workers } of CONTENDERS) {
    /** @type {Contender} */
    const contender = { name, workers: servers * workers, servers: [], sessions: [], lmtp: [] }
    contenders.push(contender)
    for (let nth = 0; nth < servers; nth++) {
      const data = join(folder, `${servers}-${workers}-${nth}`)
      mkdirSync(data)
      await createAccounts(data, names)
      const args = ['--allow-plaintext-loopback']
      contender.servers.push(await startCluster({ data, workers, args }))
    }
  }
  console.log(
    `| | ${CONTENDERS.map(({ name }) => name).join(' | ')} | 2 : 1 | 4 : 1 | 4 : 4 servers |`
  )
  console.log(`|${' --- |'.repeat(CONTENDERS.length + 4)}`)
  for (const setting of SETTINGS) {
    const { isTls, perUser } = setting
    const where = `${isTls ? 'TLS' : 'plain'}, ${perUser} session${perUser > 1 ? 's' : ''} a user`
    for (const contender of contenders) {
      await connect(contender, setting)
      // Each worker has compiled its code by then.
      for (const operation of OPERATIONS) {
        await work(contender, operation, (operation.count * contender.workers) / 2)
      }
    }
    for (const operation of OPERATIONS) {
      /** @type {number[][]} */
      const times = contenders.map(() => [])
      for (let round = 0; round < ROUNDS; round++) {
        for (const [n, contender] of contenders.entries()) {
          times[n]?.push(await measure(contender, operation))
        }
      }
      const ms = times.map(medianOf)
      const [one = 0, two = 0, four = 0, apart = 0] = ms
      const ratios = [two / one, four / one, four / apart].map((ratio) => ratio.toFixed(2))
      const cells = [...ms.map((each) => `${each.toPrecision(2)} ms`), ...ratios]
      console.log(`| ${operation.name}: ${where} | ${cells.join(' | ')} |`)
    }
    for (const contender of contenders) disconnect(contender)
  }
} finally {
  for (const { servers } of contenders) for (const server of servers) await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
