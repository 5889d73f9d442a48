import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { readFrame, writeFrame } from '../../../src/cluster/frame.js'
import { Link, answerLink } from '../../../src/cluster/link.js'
import { scratchFolder } from '../../helpers/process.js'

/** @typedef {import('node:net').Socket} Socket */

const MIB = 1024 * 1024

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ path: string, accepted: Promise<Socket> }>} where another worker listens, and its end of the first link
 */
async function listen(t) {
  const path = join(scratchFolder(t, 'link'), 'worker.sock')
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(path)
  t.after(() => server.close())
  await once(server, 'listening')
  const accepted = once(server, 'connection').then(([socket]) => {
    t.after(() => socket.destroy())
    return socket.on('error', () => socket.destroy())
  })
  return { path, accepted }
}

/**
 * A link, and a worker at its other end that answers.
 *
 * @param {import('node:test').TestContext} t
 * @param {(question: any) => Promise<unknown>} answer
 */
async function linked(t, answer) {
  const { path, accepted } = await listen(t)
  /** @type {unknown[][]} */
  const failures = []
  const closed = Promise.withResolvers()
  const link = await Link.connect(path, () => closed.resolve(undefined))
  t.after(() => link.close())
  const socket = await accepted
  const answering = readFrame(socket, { timeoutMs: 60_000 }).then((first) => {
    assert.ok(first)
    answerLink(socket, first, answer, (...failure) => failures.push(failure))
  })
  return { link, socket, failures, answering, closed: closed.promise }
}

test('what a worker that hangs does not read is kept within a bound', async (t) => {
  // Takes the connection, and never looks at it.
  const { path } = await listen(t)
  const { promise: isClosed, resolve: onClose } = Promise.withResolvers()
  const link = await Link.connect(path, () => onClose(undefined))
  const value = 'x'.repeat(MIB)
  let told = 0
  while (told < 100 && !link.isClosed) {
    link.tell({ op: 'notice', kind: 'test', value })
    told++
    await turn()
  }
  assert.ok(told < 100, `${told} MiB wait for it`)
  // What a live one leaves unread for a moment, such as all that a worker holds, does not end its link.
  assert.ok(told > 16, `${told} MiB`)
  await isClosed
})

test('each question gets its own answer, whichever comes first, and a notice none', async (t) => {
  /** @type {Map<number, PromiseWithResolvers<unknown>>} */
  const asked = new Map()
  const { link, socket } = await linked(t, ({ op, n }) => {
    if (op === 'notice') return Promise.resolve('unasked')
    const answer = Promise.withResolvers()
    asked.set(n, answer)
    return answer.promise
  })
  const writes = t.mock.method(socket, 'write').mock
  const answers = ['one', 'two', 'three'].map((op) => link.ask({ op }))
  link.tell({ op: 'notice' })
  while (asked.size < 3) await turn()
  const [first, second, third] = asked.values()
  third?.resolve(undefined)
  assert.equal((await answers[2])?.answer, null)
  second?.resolve({ of: 'two' })
  first?.resolve('of one')
  const given = await Promise.all(answers)
  assert.deepEqual(
    given.map((of) => of?.answer),
    ['of one', { of: 'two' }, null]
  )
  assert.equal(writes.callCount(), 3)
})

test('whoever asks a worker that fails to answer, is silent, dies or is gone learns so, and is kept waiting by none but the silent', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { link, socket, failures, closed } = await linked(t, async ({ op }) => {
    if (op === 'wrong' || op === 'wrong notice') throw new TypeError('of this worker')
    if (op === 'long') return 'x'.repeat(16 * MIB)
    if (op === 'silent') await new Promise(() => {})
    return op
  })
  const writes = t.mock.method(socket, 'write').mock
  link.tell({ op: 'wrong notice' })
  assert.equal(await link.ask({ op: 'wrong' }), null)
  assert.equal(await link.ask({ op: 'long' }), null, 'more than a frame takes')
  assert.deepEqual(
    failures.map(([error, op]) => [/** @type {Error} */ (error).name, op]),
    [
      ['TypeError', 'wrong notice'],
      ['TypeError', 'wrong'],
      ['RangeError', 'long']
    ]
  )
  assert.equal(writes.callCount(), 2)

  const [impatient, patient, dying] = [
    link.ask({ op: 'silent' }, { timeoutMs: 100 }),
    link.ask({ op: 'silent' }),
    link.ask({ op: 'silent' }, { timeoutMs: 6000 })
  ]
  let answered = 0
  for (const answer of [impatient, patient, dying]) answer.then(() => answered++)
  for (const [ms, count] of /** @type {const} */ ([
    [99, 0],
    [1, 1],
    [4899, 1],
    [1, 2]
  ])) {
    t.mock.timers.tick(ms)
    await turn()
    assert.equal(answered, count)
  }
  assert.equal((await link.ask({ op: 'well' }))?.answer, 'well')
  socket.destroy()
  // Nobody has noticed yet.
  link.tell({ op: 'to the dead' })
  await closed
  assert.deepEqual(await Promise.all([impatient, patient, dying]), [null, null, null])
  assert.equal(link.isClosed, true)
  assert.equal(await link.ask({ op: 'well' }), null)
  link.tell({ op: 'to nobody' })
})

test('of a question that is over nothing stays, and no link keeps a process from ending', async (t) => {
  const set = t.mock.method(globalThis, 'setTimeout').mock
  const clear = t.mock.method(globalThis, 'clearTimeout').mock
  const pipes = () => process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap').length
  const before = pipes()
  const { link, answering, closed } = await linked(t, async () => 'well')
  await link.ask({ op: 'ping' })
  await answering
  assert.equal(pipes(), before)
  const ofQuestion = set.calls.filter(({ arguments: [, ms] }) => ms === 5000)
  assert.equal(ofQuestion.length, 1)
  link.close()
  await closed
  const cleared = clear.calls.filter(({ arguments: [timer] }) => timer === ofQuestion[0]?.result)
  // A second time would be as the link ends: the question had still been waiting for its answer.
  assert.equal(cleared.length, 1)
})

test('what answers no question, or is no frame, does no harm but to the link', async (t) => {
  const { path, accepted } = await listen(t)
  const closed = Promise.withResolvers()
  const link = await Link.connect(path, () => closed.resolve(undefined))
  const socket = await accepted
  for (const value of [{ n: 7, answer: 'to what?' }, {}]) writeFrame(socket, value)
  const asked = link.ask({ op: 'ping' })
  writeFrame(socket, { n: 1, answer: 'well' })
  assert.equal((await asked)?.answer, 'well')
  const last = link.ask({ op: 'ping' })
  socket.write(Buffer.from('ffffffff00', 'hex'))
  assert.equal(await last, null)
  await closed.promise
})
