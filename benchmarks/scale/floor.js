/**
 * How far is the server from what Node and SQLite leave to it? `npx node benchmarks/scale/floor.js`: bodies and APPENDs of
 * bare-server.js and of Letterlock, in turns, medians of the rates and of their ratios.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ALLOCATOR, SERVER_FLAGS, THREAD_POOL_SIZE } from '../../config/runtime.js'
import { ImapClient, appendArguments, literalsOf } from '../lib/imap-client.js'
import { createUsers, startLetterlock } from '../lib/letterlock-server.js'
import { MailGenerator } from '../lib/mail.js'
import { median } from '../lib/statistics.js'
import { now, require } from '../lib/question.js'

const BARE = fileURLToPath(new URL('bare-server.js', import.meta.url))
const FILLED = 5000
const ROUNDS = 15
const CLIENTS = 8

const generator = new MailGenerator(42)
let nextMail = FILLED

/**
 * @param {string} folder - of its files
 * @returns {Promise<{ port: number, stop: () => Promise<void> }>}
 */
async function startBare(folder) {
  mkdirSync(folder)
  const child = spawn(process.execPath, [...SERVER_FLAGS, BARE, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...ALLOCATOR, UV_THREADPOOL_SIZE: THREAD_POOL_SIZE }
  })
  const exited = once(child, 'exit')
  const [line] = await Promise.race([
    once(/** @type {import('node:stream').Readable} */ (child.stdout), 'data'),
    exited.then(() => Promise.reject(new Error('The bare server did not start')))
  ])
  return {
    port: Number(line),
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    }
  }
}

/**
 * @param {number} port
 * @returns {Promise<ImapClient[]>} of a user each; the first one's mailbox is filled
 */
async function connectAll(port) {
  const clients = []
  for (let number = 1; number <= CLIENTS; number++) {
    const client = await ImapClient.connect({ host: '127.0.0.1', port })
    await client.login(`u${number}`, 'pass')
    await client.run('CREATE filled')
    await client.run('CREATE appended')
    clients.push(client)
  }
  const [first] = /** @type {[ImapClient]} */ (/** @type {unknown} */ (clients))
  for (let from = 0; from < FILLED; from += 50) {
    await first.pipeline(
      Array.from({ length: 50 }, (_, index) => [
        'APPEND filled',
        ...appendArguments(generator.mailOf(from + index))
      ])
    )
  }
  await first.run('SELECT filled')
  return clients
}

/**
 * @param {number} count
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>} a second
 */
async function rateOf(count, work) {
  const start = now()
  await work()
  return (1000 * count) / (now() - start)
}

/**
 * @param {number} count
 * @param {number} depth - commands that are sent at once
 * @returns {(clients: ImapClient[]) => Promise<number>}
 */
const bodies = (count, depth) => (clients) =>
  rateOf(count, async () => {
    const [client] = /** @type {[ImapClient]} */ (/** @type {unknown} */ (clients))
    for (let done = 0; done < count; done += depth) {
      const numbers = Array.from({ length: depth }, () => 1 + Math.floor(Math.random() * FILLED))
      const { bytes } = await client.pipeline(
        numbers.map((number) => `FETCH ${number} BODY.PEEK[]`)
      )
      if (done > 0) continue
      const expected = generator.mailOf(/** @type {number} */ (numbers[0]) - 1).bytes
      require(literalsOf(bytes)[0]?.equals(expected), 'byte for byte')
    }
  })

/**
 * @param {number} users
 * @param {number} each
 * @returns {(clients: ImapClient[]) => Promise<number>}
 */
const appends = (users, each) => (clients) => {
  const mails = Array.from({ length: users * each }, () => generator.mailOf(nextMail++))
  return rateOf(mails.length, () =>
    Promise.all(
      clients.slice(0, users).map(async (client) => {
        for (let count = 0; count < each; count++) {
          const mail = /** @type {import('../lib/mail.js').Mail} */ (mails.pop())
          await client.run(['APPEND appended', ...appendArguments(mail)])
        }
      })
    )
  )
}

const QUESTIONS = [
  { what: 'bodies, one at a time', ask: bodies(1000, 1) },
  { what: 'bodies, pipelined by 20', ask: bodies(4000, 20) },
  { what: 'APPEND, one client', ask: appends(1, 200) },
  { what: `APPEND, ${CLIENTS} users`, ask: appends(CLIENTS, 50) }
]

const folder = mkdtempSync(join(tmpdir(), 'letterlock-floor-'))
const data = join(folder, 'data')
await createUsers(data, CLIENTS)
const bare = await startBare(join(folder, 'bare'))
const server = await startLetterlock(data, join(folder, 'log'))
try {
  const contenders = [await connectAll(bare.port), await connectAll(server.ports.imap)]
  console.log('| a second | bare | Letterlock | ratio |\n| --- | --- | --- | --- |')
  for (const { what, ask } of QUESTIONS) {
    /** @type {[number, number][]} */
    const rounds = []
    for (let round = 0; round < ROUNDS; round++) {
      /** @type {[number, number]} */
      const rates = [0, 0]
      const isTurned = round % 2 === 1
      for (const which of isTurned ? [1, 0] : [0, 1]) {
        rates[which] = await ask(/** @type {ImapClient[]} */ (contenders[which]))
      }
      // Code is compiled in the first ones.
      if (round >= 3) rounds.push(rates)
    }
    const figures = [
      median(rounds.map(([bareRate]) => bareRate)).toFixed(0),
      median(rounds.map(([, rate]) => rate)).toFixed(0),
      median(rounds.map(([bareRate, rate]) => rate / bareRate)).toFixed(2)
    ]
    console.log(`| ${[what, ...figures].join(' | ')} |`)
  }
  for (const client of contenders.flat()) client.close()
} finally {
  await server.stop()
  await bare.stop()
  rmSync(folder, { recursive: true, force: true })
}
