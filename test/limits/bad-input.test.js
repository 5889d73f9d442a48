import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import {
  forgetPeak,
  memoryIsUnreadable,
  peakBytes,
  residentBytes
} from '../helpers/process-memory.js'
import { WireClient } from '../helpers/wire-client.js'

const isTorture = process.env.LETTERLOCK_TEST_TORTURE === '1'
const MB = 1_000_000
/** What any of this may cost: no input is in memory beyond the limits of the protocol layer. */
const ALLOWED_GROWTH = 40 * MB
const GARBAGE_RUNS = isTorture ? 2000 : 60
const GARBAGE_SEED = 20_260_301

/** @type {import('../helpers/process.js').ServerProcess} */
let server
/** @type {WireClient} another user's session, which must notice nothing */
let witness
/** @type {(() => unknown)[]} */
const cleanUp = []

before(async () => {
  const context = /** @type {import('node:test').TestContext} */ (
    /** @type {unknown} */ ({ after: (/** @type {() => unknown} */ run) => cleanUp.unshift(run) })
  )
  const data = join(scratchFolder(context, 'bad-input'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['u1@example.org', 'u2@example.org'])
  server = await startServerProcess(context, { data })
  witness = await WireClient.connect(server.ports.imap)
  await witness.login('u2@example.org')
  await witness.command('SELECT INBOX')
})

after(async () => {
  witness.destroy()
  for (const run of cleanUp) await run()
})

/** @returns {Promise<WireClient>} of u1, before login */
const open = () => WireClient.connect(server.ports.imap)

/** @returns {Promise<WireClient>} */
async function openLoggedIn() {
  const client = await open()
  await client.login('u1@example.org')
  return client
}

/**
 * Whatever another client does, the witness gets its answers.
 *
 * @param {() => Promise<unknown>} work
 */
async function whileWitnessWorks(work) {
  const state = { isOver: false }
  const working = work().finally(() => {
    state.isOver = true
  })
  let answers = 0
  do {
    assert.match(await witness.command('NOOP'), /OK/)
    answers++
    await sleep(5)
  } while (!state.isOver)
  await working
  assert.ok(answers > 0)
}

/**
 * Sends until the server has said its last word or everything is out.
 *
 * @param {WireClient} client
 * @param {Iterable<Buffer | string>} pieces
 */
async function pour(client, pieces) {
  for (const piece of pieces) {
    if (client.isClosed || client.socket.destroyed) return
    await client.pour(piece)
  }
}

/**
 * @param {WireClient} client
 * @returns {Promise<string>} everything until the server closes
 */
async function untilClosed(client) {
  while (!client.isClosed) await sleep(5)
  return client.received.toString('latin1')
}

/** @param {() => Promise<unknown>} work */
async function withBoundedMemory(work) {
  if (memoryIsUnreadable !== false) return await work()
  const pid = Number(server.child.pid)
  const atStart = residentBytes(pid)
  forgetPeak(pid)
  await work()
  const growth = peakBytes(pid) - atStart
  assert.ok(growth < ALLOWED_GROWTH, `the server grew by ${(growth / MB).toFixed(1)} MB`)
}

const MEBIBYTE = Buffer.alloc(1024 * 1024, 'x')

for (const [where, connectClient] of /** @type {const} */ ([
  ['before login', open],
  ['after login', openLoggedIn]
])) {
  test(`a line of 10 MB ${where} ends in BAD or BYE with a reason`, async () => {
    const client = await connectClient()
    await whileWitnessWorks(() =>
      withBoundedMemory(async () => {
        await pour(client, ['a NOOP ', ...Array.from({ length: 10 }, () => MEBIBYTE), '\r\n'])
        const said = await client.until(/^(a BAD|\* BAD|\* BYE) .+\r\n/m)
        assert.match(said, /\S+ (BAD|BYE) .{5,}/)
      })
    )
    client.destroy()
  })

  for (const literal of [
    '{99999999999}',
    '{99999999999+}',
    '{18446744073709551616}',
    '{-1}',
    '{1',
    '{}',
    '~{9999999999}'
  ]) {
    test(`a literal ${literal} ${where} ends in NO, BAD or BYE with a reason`, async () => {
      const client = await connectClient()
      client.send(`a LOGIN ${literal}\r\n`)
      assert.match(await client.until(/^(a|\*) (NO|BAD|BYE) .+\r\n/m), /(NO|BAD|BYE) .{5,}/)
      client.destroy()
    })
  }

  test(`NUL bytes ${where} end in BAD with a reason`, async () => {
    for (const line of ['a NO\0OP', 'a LOGIN "u\0" x', '\0\0\0', 'a LOGIN {3}\r\nu\0x y']) {
      const client = await connectClient()
      client.send(`${line}\r\n`)
      assert.match(await client.until(/^\S+ (NO|BAD|BYE) .+\r\n/m), /(NO|BAD|BYE) .{5,}/, line)
      client.destroy()
    }
  })

  test(`parentheses nested 10,000 deep ${where} end in BAD with a reason`, async () => {
    const deep = '('.repeat(10_000)
    for (const command of [
      `SEARCH ${deep}ALL${')'.repeat(10_000)}`,
      `SEARCH ${deep}`,
      `FETCH 1 ${deep}`,
      `ID ${deep}`,
      `STORE 1 FLAGS ${deep}`
    ]) {
      const client = await connectClient()
      await withBoundedMemory(async () => {
        client.send(`a ${command}\r\n`)
        assert.match(await client.until(/^(a|\*) (BAD|BYE) .+\r\n/m), /(BAD|BYE) .{5,}/)
      })
      client.destroy()
    }
  })
}

test('strangers who have words by the thousand wait for a literal cost next to nothing', async () => {
  const clients = await Promise.all(Array.from({ length: 50 }, open))
  await withBoundedMemory(async () => {
    for (const client of clients) {
      client.send(`a ID (${'""'.repeat(18_000)} {9}\r\n`)
      await client.until(/^(\+|a BAD) .+\r\n/m)
    }
  })
  for (const client of clients) client.destroy()
})

test('an APPEND literal above the limit is refused before a byte of it, and one of an absurd size too', async () => {
  const client = await openLoggedIn()
  for (const size of ['50000001', '4294967295', '9007199254740993']) {
    assert.match(await client.command(`APPEND INBOX {${size}}`), /^w\d+ (NO|BAD) .{5,}/m)
  }
  assert.match(await client.command('NOOP'), /OK/)
  client.destroy()
})

test('an unterminated literal holds up nobody, and leaves nothing when its client goes', async () => {
  const clients = []
  for (let index = 0; index < 20; index++) {
    const client = await openLoggedIn()
    client.send('a APPEND INBOX {1000000+}\r\nSubject: half a message\r\n')
    client.send('x'.repeat(100_000))
    clients.push(client)
  }
  await whileWitnessWorks(() => sleep(300))
  for (const client of clients) client.destroy()
  const client = await openLoggedIn()
  assert.match(await client.command('SELECT INBOX'), /^\* 0 EXISTS/m)
  client.destroy()
})

test('a search of a thousand NOTs or ORs is answered', async () => {
  const client = await openLoggedIn()
  await client.command('SELECT INBOX')
  for (const key of [
    `${'NOT '.repeat(900)}ALL`,
    `${'OR ALL '.repeat(900)}ALL`,
    `${'NOT '.repeat(12_000)}ALL`
  ]) {
    assert.match(await client.command(`SEARCH ${key}`), /^w\d+ (OK|BAD|NO) /m)
  }
  client.destroy()
})

test('pipelined garbage never stops the server, and it says why it hangs up', async () => {
  const words = [
    'a',
    'b2',
    ' ',
    '\r\n',
    '(',
    ')',
    '"',
    '\\',
    '{5}',
    '{5+}',
    '~{2+}',
    '*',
    '%',
    '\0',
    '\xff'
  ]
  const commands = [
    'LOGIN',
    'SELECT INBOX',
    'UID FETCH 1:*',
    'SEARCH',
    'APPEND INBOX',
    'BODY[]<',
    'IDLE',
    'DONE',
    'AUTHENTICATE PLAIN',
    'ENABLE',
    'LIST "" '
  ]
  const piece = fc.oneof(
    fc.constantFrom(...words, ...commands).map((text) => Buffer.from(text, 'latin1')),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes))
  )
  await whileWitnessWorks(() =>
    withBoundedMemory(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(piece, { maxLength: 80 }),
          fc.boolean(),
          async (pieces, isLoggedIn) => {
            const client = isLoggedIn ? await openLoggedIn() : await open()
            await pour(client, pieces)
            client.socket.end()
            const said = await untilClosed(client)
            for (const line of said.split('\r\n')) {
              assert.doesNotMatch(line, /SERVERBUG/)
              assert.match(line, /^$|^\+|^\* |^\S+ (OK|NO|BAD)\b/)
            }
          }
        ),
        { seed: GARBAGE_SEED, numRuns: GARBAGE_RUNS }
      )
    )
  )
})

test('a thousand connections that say nothing keep nobody out', async () => {
  const sockets = []
  for (let index = 0; index < 1000; index++) {
    const socket = connect({
      host: '127.0.0.1',
      port: server.ports[index % 2 === 0 ? 'imap' : 'imaps']
    })
    socket.on('error', () => {})
    sockets.push(socket)
    if (index % 100 === 99) await once(socket, 'connect')
  }
  await whileWitnessWorks(async () => {
    const client = await openLoggedIn()
    assert.match(await client.command('SELECT INBOX'), /OK/)
    client.destroy()
  })
  for (const socket of sockets) socket.destroy()
})

test('after all that the server is well, and has logged no error', async () => {
  assert.match(await witness.command('NOOP'), /OK/)
  assert.doesNotMatch(server.output(), /"level":"(error|fatal)"/)
  witness.destroy()
  assert.equal(await server.stop(), 0)
})
