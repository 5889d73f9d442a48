import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import {
  countThreads,
  forgetPeak,
  memoryIsUnreadable,
  peakBytes,
  residentBytes
} from '../helpers/process-memory.js'
import { WireClient } from '../helpers/wire-client.js'

const MB = 1_000_000
/** Just below the default messages.maxBytes. */
const LARGE = 49.9 * MB
const ALLOWED_GROWTH = 40 * MB
/**
 * Each of them must stay below: memory that has grown once would hide the same again. They follow each other at
 * once, so that the index takes in the message before while the next one comes.
 */
const ROUNDS = 3
/** The heap of a thread, as one that indexes: on a busy machine it begins later, maybe while something is measured. */
const THREAD_BYTES = 30 * MB
/** New servers that are looked at, where the first ones grow further. */
const SERVERS = 3
/**
 * @param {import('node:test').TestContext} t
 * @param {{ isTls?: boolean }} [options]
 */
async function start(t, { isTls = false } = {}) {
  const data = join(scratchFolder(t, 'memory'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['u1@example.org'])
  const server = await startServerProcess(t, { data })
  const client = await WireClient.connect(server.ports[isTls ? 'imaps' : 'imap'], { isTls })
  t.after(() => client.destroy())
  await client.login('u1@example.org')
  return { client, pid: Number(server.child.pid) }
}

/**
 * @param {number} size - bytes
 * @param {'attachment' | 'text'} kind - base64 of noise, which hardly shrinks, or one line, which shrinks to nothing
 * @returns {Generator<Buffer>} the message in pieces
 */
function* largeMessage(size, kind) {
  const head = 'Subject: large\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  yield Buffer.from(head)
  const noise = randomBytes(57_000).toString('base64').replace(/.{76}/g, '$&\r\n')
  const block = Buffer.from(kind === 'text' ? 'x'.repeat(65_536) : noise)
  for (let left = size - head.length; left > 0; left -= block.length) {
    yield block.subarray(0, Math.min(left, block.length))
  }
}

/**
 * @param {WireClient} client
 * @param {number} size
 * @param {'attachment' | 'text'} kind
 */
async function append(client, size, kind) {
  client.send(`large APPEND INBOX {${size}+}\r\n`)
  for (const piece of largeMessage(size, kind)) await client.pour(piece)
  client.send('\r\n')
  assert.match(await client.until(/^large .*\r\n/m), /large OK/)
}

/**
 * Counts instead of keeping: what the client holds is not asked here.
 *
 * @param {WireClient} client
 * @param {number} sequence
 * @returns {Promise<number>} bytes of the body
 */
async function fetchLarge(client, sequence) {
  client.send(`large FETCH ${sequence} BODY.PEEK[]\r\n`)
  const size = Number(/\{(\d+)\}/.exec(await client.until(/^\* \d+ FETCH .*\r\n/m))?.[1])
  for (let left = size; left > 0;) left -= (await client.take(Math.min(left, 65_536))).length
  assert.match(await client.until(/^large .*\r\n/m), /large OK/)
  return size
}

/**
 * @param {number} pid
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>} how far the resident memory has risen above where it was, at its highest, bytes
 */
async function growthDuring(pid, work) {
  const before = residentBytes(pid)
  forgetPeak(pid)
  await work()
  return peakBytes(pid) - before
}

/**
 * @param {import('node:test').TestContext} t
 * @param {boolean} isTls
 * @returns {Promise<{ what: string, bytes: number }[]>} how far a new server grows at each kind of work, the most of all
 *   rounds
 */
async function growthsOfLarge(t, isTls) {
  const { client, pid } = await start(t, { isTls })
  const growths = []
  let count = 0
  for (const kind of /** @type {const} */ (['attachment', 'text'])) {
    await append(client, 5 * MB, kind)
    await client.command('SELECT INBOX')
    await fetchLarge(client, ++count)
    const rounds = []
    for (let round = 0; round < ROUNDS; round++) {
      const appending = await growthDuring(pid, () => append(client, LARGE, kind))
      await client.command('NOOP')
      const sequence = ++count
      const fetching = await growthDuring(pid, async () => {
        assert.equal(await fetchLarge(client, sequence), LARGE)
      })
      rounds.push({ appending, fetching })
    }
    growths.push(
      { what: `APPEND of ${kind}`, bytes: Math.max(...rounds.map((round) => round.appending)) },
      { what: `FETCH of ${kind}`, bytes: Math.max(...rounds.map((round) => round.fetching)) }
    )
  }
  client.destroy()
  return growths
}

for (const isTls of [false, true]) {
  const how = isTls ? 'TLS' : 'a plain socket'
  test(
    `a message of 50 MB goes in and out through ${how} and is never in memory as a whole`,
    { skip: memoryIsUnreadable },
    async (t) => {
      let told = ''
      // When garbage is collected differs from server to server; a message that is kept would be in each of them.
      for (let tries = 0; tries < SERVERS; tries++) {
        const growths = await growthsOfLarge(t, isTls)
        told = growths.map(({ what, bytes }) => `${what} +${(bytes / MB).toFixed(1)} MB`).join(', ')
        t.diagnostic(told)
        if (growths.every(({ bytes }) => bytes < ALLOWED_GROWTH)) return
      }
      assert.fail(told)
    }
  )
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<number>} how far a new server grows at an APPEND of 200 messages, 100 MB in all, bytes; without the
 *   threads that begin meanwhile
 */
async function growthOfManyAppends(t) {
  const { client, pid } = await start(t)
  /** @param {number} count */
  const appendMany = async (count) => {
    const message = Buffer.concat([...largeMessage(0.5 * MB, 'attachment')])
    client.send('many APPEND INBOX')
    for (let nth = 0; nth < count; nth++) {
      client.send(` {${message.length}+}\r\n`)
      const one = Buffer.from(message)
      one.write(`${nth}`.padStart(5), 'Subject: '.length)
      await client.pour(one)
    }
    client.send('\r\n')
    assert.match(await client.until(/^many .*\r\n/m), /many OK/)
  }
  await appendMany(40)
  const threads = countThreads(pid)
  const growth = await growthDuring(pid, () => appendMany(200))
  return growth - Math.max(0, countThreads(pid) - threads) * THREAD_BYTES
}

test(
  'an APPEND of many messages (RFC 3502) does not have them all in memory',
  { skip: memoryIsUnreadable },
  async (t) => {
    /** @type {number[]} */
    const growths = []
    // When garbage is collected differs from server to server, and it comes by the message: hence few that are large.
    for (let tries = 0; tries < SERVERS && !(Math.min(...growths) < ALLOWED_GROWTH); tries++)
      growths.push(await growthOfManyAppends(t))
    const figures = growths.map((growth) => `+${(growth / MB).toFixed(1)} MB`).join(', ')
    t.diagnostic(figures)
    assert.ok(Math.min(...growths) < ALLOWED_GROWTH, figures)
  }
)

/** What garbage there may be of some hundred MB that pass. */
const ALLOWED_GARBAGE = 180 * MB

/**
 * @param {WireClient} client - of no use afterwards but for this
 * @returns {Promise<void>} when a command `many` has been answered, of which nothing is kept
 */
async function untilAnswered(client) {
  client.socket.removeAllListeners('data')
  await new Promise((resolve) => {
    let tail = ''
    client.socket.on('data', (chunk) => {
      tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - 100))).slice(-100)
      if (tail.includes('\r\nmany OK ')) resolve(undefined)
    })
  })
}

test(
  'a FETCH of hundreds of sections of one message does not have them all in memory',
  { skip: memoryIsUnreadable },
  async (t) => {
    const { client, pid } = await start(t)
    const header = `Subject: large\r\nX-Filler: ${`${'f'.repeat(70)}\r\n `.repeat(12_000)}\r\n`
    const body = `${'b'.repeat(70)}\r\n`.repeat(10_000)
    await client.command('APPEND INBOX', Buffer.from(`${header}\r\n${body}`))
    await client.command('SELECT INBOX')
    const kinds = [
      { count: 800, item: (/** @type {number} */ nth) => `BINARY.PEEK[1]<${nth}.262144>` },
      { count: 2500, item: (/** @type {number} */ nth) => `BINARY.PEEK[1]<${nth}.1>` },
      {
        count: 300,
        item: (/** @type {number} */ nth) => `BODY.PEEK[HEADER.FIELDS (X-Filler X${nth})]`
      }
    ]
    for (const { count, item } of kinds) {
      const list = Array.from({ length: count }, (_, nth) => item(nth)).join(' ')
      const growth = await growthDuring(pid, async () => {
        client.send(`many FETCH 1 (${list})\r\n`)
        await untilAnswered(client)
      })
      t.diagnostic(`${item(0)} +${(growth / MB).toFixed(1)} MB`)
      assert.ok(growth < ALLOWED_GARBAGE, `${item(0)} +${(growth / MB).toFixed(1)} MB`)
    }
  }
)

test(
  'a FETCH whose answer is longer than what is read for it does not gather it',
  { skip: memoryIsUnreadable },
  async (t) => {
    const { client, pid } = await start(t)
    await client.command('APPEND INBOX', Buffer.from('Subject: small\r\n\r\n'))
    await client.command('SELECT INBOX')
    // What lists are made of is made for the first who asks, and is in its place before a preview is.
    await client.command('FETCH 1 (BODY.PEEK[HEADER.FIELDS (SUBJECT)])')
    await client.command('FETCH 1 PREVIEW')
    for (let doubling = 0; doubling < 11; doubling++) await client.command('COPY 1:* INBOX')
    // Each response repeats the names.
    const names = 'SUBJECT '.repeat(7000)
    const growth = await growthDuring(pid, async () => {
      client.send(`many FETCH 1:* (BODY.PEEK[HEADER.FIELDS (${names}FROM)])\r\n`)
      await untilAnswered(client)
    })
    t.diagnostic(`+${(growth / MB).toFixed(1)} MB`)
    assert.ok(growth < ALLOWED_GROWTH, `+${(growth / MB).toFixed(1)} MB`)
  }
)
