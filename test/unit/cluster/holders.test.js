import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Holders } from '../../../src/cluster/holders.js'
import { registrarAmong } from '../../../src/cluster/registrar.js'
import { WorkersInMemory } from '../../helpers/workers-in-memory.js'

/** @typedef {import('../../helpers/workers-in-memory.js').Member} Member */

const FOREVER = Number.POSITIVE_INFINITY

/**
 * @param {number} count
 * @param {ConstructorParameters<typeof WorkersInMemory>[0]} [options]
 */
async function start(count, options) {
  const workers = new WorkersInMemory(options)
  for (let slot = 0; slot < count; slot++) await workers.join(slot)
  return workers
}

/**
 * @param {WorkersInMemory} workers
 * @param {number} slot - of the registrar
 * @param {number} [nth]
 * @returns {string} an account
 */
function accountOf(workers, slot, nth = 0) {
  const taking = workers.living.filter(({ isLeaving }) => !isLeaving)
  for (let n = 0; ; n++) {
    const id = `account-${n}`
    if (registrarAmong(id, taking)?.slot === slot && nth-- === 0) return id
  }
}

/**
 * What a login does: claims, and opens where it may.
 *
 * @param {WorkersInMemory} workers
 * @param {Member} at
 * @param {string} accountId
 * @returns {Promise<string>} path of the worker that serves the session
 */
async function logIn(workers, at, accountId) {
  /** @type {string[]} */
  const except = []
  for (let tries = 0; tries < 3; tries++) {
    const path = await at.holders.claim({ accountId, claimant: at.path, except })
    if (path === null || path === at.path) break
    except.push(path)
    const holder = workers.members.get(path)
    if (!holder || !at.known.has(path) || holder.isDead || holder.isLeaving) continue
    if (!holder.holders.holds(accountId)) holder.holders.hold(accountId)
    return path
  }
  if (!at.holders.holds(accountId)) at.holders.hold(accountId)
  return at.path
}

/** @param {WorkersInMemory} workers */
const three = (workers) => /** @type {[Member, Member, Member]} */ ([...workers.members.values()])

test('the first session of an account is served where it comes in, the others there too, wherever the registrar is', async () => {
  const workers = await start(3)
  for (const registrar of [0, 1, 2]) {
    const accountId = accountOf(workers, registrar)
    for (const at of three(workers)) {
      for (const other of three(workers)) {
        assert.equal(await logIn(workers, at, accountId), at.path)
        assert.equal(await logIn(workers, other, accountId), at.path)
        at.holders.release(accountId)
        await workers.quiet()
      }
    }
  }
})

for (const settleMs of [0, FOREVER]) {
  test(`first logins at the same moment meet in one worker (${settleMs ? 'while registrars ask around' : 'when nothing has changed for long'})`, async () => {
    const workers = await start(4, { settleMs })
    for (let n = 0; n < 50; n++) {
      const accountId = `account-${n}`
      const served = await Promise.all(
        workers.living.map((worker) => logIn(workers, worker, accountId))
      )
      assert.equal(new Set(served).size, 1)
    }
  })
}

test('a holder that dies is replaced by whoever comes first, also before the registrar has heard of it', async () => {
  const workers = await start(3)
  const [registrar, holder, other] = three(workers)
  const accountId = accountOf(workers, 0)
  await logIn(workers, holder, accountId)
  holder.isDead = true
  const claim = { accountId, claimant: other.path, except: [] }
  assert.equal(await other.holders.claim(claim), holder.path, 'the registrar has not heard')
  assert.equal(await other.holders.claim({ ...claim, except: [holder.path] }), other.path)
  assert.equal(await logIn(workers, other, accountId), other.path)
  await workers.kill(holder)
  assert.equal(await logIn(workers, registrar, accountId), other.path)
})

test('a holder that leaves is asked no more', async () => {
  const workers = await start(3)
  const [registrar, holder, other] = three(workers)
  const accountId = accountOf(workers, 0)
  await logIn(workers, holder, accountId)
  await workers.leave(holder)
  assert.equal(await logIn(workers, other, accountId), other.path)
  assert.equal(await logIn(workers, registrar, accountId), other.path)
  const orphan = accountOf(workers, 0, 1)
  assert.equal(
    await logIn(workers, holder, orphan),
    holder.path,
    'its own last logins it serves itself'
  )
  assert.equal(await logIn(workers, other, orphan), other.path, 'and nobody is sent there')
})

for (const event of /** @type {const} */ (['kill', 'leave'])) {
  test(`after the registrar’s ${event} the next one knows who has what open`, async () => {
    const workers = await start(4)
    const [registrar, ...others] = workers.living
    const held = Array.from({ length: 30 }, (_, n) => ({
      accountId: accountOf(workers, 0, n),
      holder: /** @type {Member} */ (others[n % 3])
    }))
    for (const { accountId, holder } of held) await logIn(workers, holder, accountId)
    await workers[event](/** @type {Member} */ (registrar))
    await workers.quiet()
    for (const { accountId, holder } of held) {
      for (const other of others) assert.equal(await logIn(workers, other, accountId), holder.path)
    }
    for (const { accountId, holder } of held) holder.holders.release(accountId)
    await workers.quiet()
    for (const { holders } of others) assert.deepEqual(holders.figures, { held: 0, registered: 0 })
  })
}

test('claims that come before the announcements are answered rightly all the same', async () => {
  let turns = 1
  const workers = await start(4, { settleMs: FOREVER, delay: () => turns })
  const [registrar, holder, ...others] = /** @type {[Member, Member, Member, Member]} */ (
    workers.living
  )
  const held = Array.from({ length: 20 }, (_, n) => accountOf(workers, 0, n))
  for (const accountId of held) await logIn(workers, holder, accountId)
  // Everybody but the holder hears of the death at once.
  turns = 1
  registrar.isDead = true
  for (const other of others) {
    other.known.delete(registrar.path)
    other.holders.announce()
  }
  for (const accountId of held) {
    for (const other of others) assert.equal(await logIn(workers, other, accountId), holder.path)
  }
})

test('a worker that joins knows the accounts that it is the registrar of from now on, also in a place that is reloaded', async () => {
  for (const [slot, generation] of [
    [3, 1],
    [0, 2]
  ]) {
    const workers = await start(3)
    const members = three(workers)
    const held = Array.from({ length: 60 }, (_, n) => `account-${n}`)
    const holderOf = (/** @type {number} */ n) => /** @type {Member} */ (members[n % 3])
    for (const [n, accountId] of held.entries()) await logIn(workers, holderOf(n), accountId)
    const newer = await workers.join(Number(slot), generation)
    assert.ok(newer.holders.figures.registered > 5)
    for (const [n, accountId] of held.entries()) {
      assert.equal(await logIn(workers, newer, accountId), holderOf(n).path)
      assert.equal(
        await logIn(workers, /** @type {Member} */ (members[(n + 1) % 3]), accountId),
        holderOf(n).path
      )
    }
    const registered = [...workers.living].map(({ holders }) => holders.figures.registered)
    assert.equal(
      registered.reduce((sum, count) => sum + count),
      held.length,
      'the old registrars have forgotten them'
    )
  }
})

test('a claim that comes to the old registrar is passed on to the new one', async () => {
  const workers = await start(3)
  const [, holder, other] = three(workers)
  const held = Array.from({ length: 60 }, (_, n) => `account-${n}`)
  for (const accountId of held) await logIn(workers, holder, accountId)
  const newer = await workers.join(0, 2)
  assert.ok(newer.holders.figures.registered > 5)
  // Not met yet.
  other.known.delete(newer.path)
  for (const accountId of held) assert.equal(await logIn(workers, other, accountId), holder.path)
})

test('a stale entry does no harm: whoever is named opens the mailbox and says so', async () => {
  const workers = await start(3)
  const [, holder, other] = three(workers)
  const accountId = accountOf(workers, 0)
  // Claimed and never opened, as where the client was gone before.
  await holder.holders.claim({ accountId, claimant: holder.path, except: [] })
  assert.equal(await logIn(workers, other, accountId), holder.path)
  assert.ok(holder.holders.holds(accountId))
})

for (const [of, slot] of /** @type {const} */ ([
  ['two holders', 0],
  ['a holder and the registrar itself', 2]
])) {
  test(`who closes an account takes only itself off; of ${of} the first stays until it closes, then the second is named`, async () => {
    const workers = await start(4)
    const [registrar, first, second, last] = /** @type {[Member, Member, Member, Member]} */ (
      workers.living
    )
    const accountId = accountOf(workers, slot)
    await logIn(workers, first, accountId)
    second.holders.hold(accountId)
    await workers.quiet()
    assert.equal(await logIn(workers, last, accountId), first.path)
    last.holders.hold(accountId)
    last.holders.release(accountId)
    await workers.quiet()
    assert.equal(await logIn(workers, registrar, accountId), first.path)
    first.holders.release(accountId)
    await workers.quiet()
    assert.equal(await logIn(workers, last, accountId), second.path)
    second.holders.release(accountId)
    await workers.quiet()
    assert.deepEqual(
      workers.living.map(({ holders }) => holders.figures),
      Array.from({ length: 4 }, () => ({ held: 0, registered: 0 })),
      'nothing is left'
    )
  })
}

test('a registrar that hangs is not waited for', async () => {
  const workers = await start(3)
  const [registrar, one, other] = three(workers)
  const accountId = accountOf(workers, 0)
  registrar.isSilent = true
  assert.equal(await logIn(workers, one, accountId), one.path)
  assert.equal(await logIn(workers, other, accountId), other.path)
})

test('what arrives from a worker that has died is not remembered', async () => {
  const workers = await start(3)
  const [registrar, dead] = three(workers)
  const accountId = accountOf(workers, 0)
  await workers.kill(dead)
  registrar.holders.noteHeld(dead.path, [accountId])
  assert.equal(registrar.holders.figures.registered, 0)
})

test('whatever happens in whatever order: once it is quiet, every account that is open somewhere is served there, and by one worker', async () => {
  const event = fc.oneof(
    { weight: 10, arbitrary: fc.tuple(fc.constant('login'), fc.nat(7), fc.nat(5)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('close'), fc.nat(7), fc.nat(5)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('kill'), fc.nat(7), fc.nat(5)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('leave'), fc.nat(7), fc.nat(5)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('join'), fc.nat(3), fc.nat(5)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('quiet'), fc.nat(7), fc.nat(5)) }
  )
  const delays = fc.infiniteStream(fc.nat(3))
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), delays, async (events, delay) => {
      const workers = await start(3, { delay: () => delay.next().value ?? 1 })
      let generation = 1
      /** @type {Promise<unknown>[]} */
      const running = []
      for (const [what, who, whose] of events) {
        const takers = workers.living.filter(({ isLeaving }) => !isLeaving)
        const member = /** @type {Member} */ (takers[who % takers.length])
        const accountId = `account-${whose}`
        if (what === 'login') running.push(logIn(workers, member, accountId))
        if (what === 'close') member.holders.release(accountId)
        if (what === 'kill' && takers.length > 1) running.push(workers.kill(member))
        if (what === 'leave' && takers.length > 1) running.push(workers.leave(member))
        if (what === 'join') await workers.join(who, ++generation)
        if (what === 'quiet') await workers.quiet()
      }
      await Promise.all(running)
      await workers.quiet()
      const takers = workers.living.filter(({ isLeaving }) => !isLeaving)
      for (let whose = 0; whose < 6; whose++) {
        const accountId = `account-${whose}`
        const holding = takers.filter(({ holders }) => holders.holds(accountId))
        const served = new Set()
        for (const at of takers) served.add(await logIn(workers, at, accountId))
        assert.equal(served.size, 1, accountId)
        if (holding.length > 0) assert.ok(holding.some(({ path }) => served.has(path)))
      }
    }),
    { numRuns: 200 }
  )
})

test('workers that take each other for the registrar do not pass a claim on for ever, nor is a dead one asked for ever', async () => {
  /** @type {string[]} */
  const asked = []
  /** @type {Map<string, Holders>} */
  const workers = new Map()
  const make = (/** @type {string} */ path, /** @type {string} */ registrar, isClosed = false) => {
    const link = {
      isClosed,
      ask: async (/** @type {any} */ question) => {
        asked.push(path)
        const holders = workers.get(registrar)
        return holders ? { answer: await holders.claim(question) } : null
      },
      tell: () => {}
    }
    const registrarOf = () => ({ path: registrar, link })
    workers.set(path, new Holders(path, { registrarOf, isTaking: () => true, all: [] }))
  }
  make('one', 'two')
  make('two', 'one')
  const claim = { accountId: 'x', claimant: 'one', except: [] }
  assert.equal(await workers.get('one')?.claim(claim), 'one')
  assert.deepEqual(asked, ['one', 'two'])

  // One that is there and says nothing is asked once: whoever waits for the session has waited long enough.
  for (const [path, isClosed, times] of /** @type {const} */ ([
    ['of a hanging one', false, 1],
    ['of dead ones', true, 3]
  ])) {
    asked.length = 0
    make(path, 'nobody', isClosed)
    assert.equal(await workers.get(path)?.claim(claim), null)
    assert.deepEqual(asked, Array(times).fill(path))
  }
})
