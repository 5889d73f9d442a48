import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  PageSessions,
  SharedPageSessions,
  keyOfSession
} from '../../../src/user-page/page-sessions.js'
import { ManualClock } from '../../helpers/manual-clock.js'

const FACTS = {
  accountId: 'anna',
  credentialId: 'c1',
  credentialVersion: 1,
  username: 'anna@example.org',
  remoteAddress: '192.0.2.1'
}

function setUp() {
  const clock = new ManualClock()
  const make = () => new PageSessions({ clock, idleMs: 1000, maxMs: 5000 })
  return { clock, make, sessions: make() }
}

test('the browser’s id is kept nowhere, and finds its session', () => {
  const { sessions } = setUp()
  const { id, session } = sessions.begin(FACTS)
  assert.equal(JSON.stringify(session).includes(id), false)
  assert.equal(sessions.use(keyOfSession(id))?.accountId, 'anna')
  assert.equal(sessions.use(keyOfSession('another')), null)
})

test('a session is over when nothing was asked for too long, and after its longest time in any case', () => {
  const { clock, sessions } = setUp()
  const idle = sessions.begin(FACTS).session.key
  const busy = sessions.begin(FACTS).session.key
  for (let passed = 0; passed < 4500; passed += 900) {
    assert.ok(sessions.use(busy), `after ${passed} ms`)
    clock.advance(900)
  }
  assert.equal(sessions.use(idle), null)
  assert.ok(sessions.use(busy))
  clock.advance(499)
  assert.ok(sessions.use(busy))
  clock.advance(1)
  assert.equal(sessions.use(busy), null)
})

test('a session that is over stays so, whatever becomes of the clock', () => {
  const { clock, sessions } = setUp()
  const used = sessions.begin(FACTS).session.key
  sessions.begin(FACTS)
  clock.advance(1000)
  assert.equal(sessions.use(used), null)
  assert.deepEqual(sessions.list('anna'), [])
  clock.advance(-500)
  assert.equal(sessions.use(used), null)
  assert.deepEqual(sessions.list('anna'), [])
})

test('a session of before the clock was set back does not last until it is that late again', () => {
  const { clock, sessions } = setUp()
  const { key } = sessions.begin(FACTS).session
  clock.advance(-999)
  assert.ok(sessions.use(key))
  clock.advance(-1000)
  assert.equal(sessions.use(key), null)
})

test('an account’s oldest session makes room, and nobody else’s', () => {
  const { sessions } = setUp()
  const other = sessions.begin({ ...FACTS, accountId: 'ben' }).session.key
  const keys = Array.from({ length: 21 }, () => sessions.begin(FACTS).session.key)
  assert.equal(sessions.use(keys[0] ?? ''), null)
  assert.ok(sessions.use(keys[1] ?? ''))
  assert.ok(sessions.use(other))
})

test('what is over takes no room from a session that is in use, though that is older', () => {
  const { clock, sessions } = setUp()
  const { key } = sessions.begin(FACTS).session
  for (let nth = 1; nth < 20; nth++) sessions.begin(FACTS)
  clock.advance(999)
  assert.ok(sessions.use(key))
  clock.advance(1)
  sessions.begin(FACTS)
  assert.ok(sessions.use(key))
})

test('there are so many sessions at most, and the oldest of all makes room', () => {
  const { clock } = setUp()
  const sessions = new PageSessions({ clock, idleMs: 1000, maxMs: 5000, maxSessions: 3 })
  const keys = ['anna', 'ben', 'carl', 'dora'].map(
    (accountId) => sessions.begin({ ...FACTS, accountId }).session.key
  )
  assert.deepEqual(
    keys.map((key) => sessions.use(key) !== null),
    [false, true, true, true]
  )
})

test('any worker uses, lists and ends what another has begun', async () => {
  const { make, clock } = setUp()
  const locals = [make(), make()]
  const ask = async (/** @type {any} */ question) =>
    locals.map((local) => structuredClone(local.answer(question)))
  const [first, second] = locals.map((local) => new SharedPageSessions(local, ask))
  assert.ok(first && second)
  const more = second.begin(FACTS).session
  clock.advance(1)
  const { session } = first.begin(FACTS)
  assert.equal((await second.use(session.key))?.token, session.token)
  assert.deepEqual(
    (await first.list('anna')).map(({ key }) => key),
    [more.key, session.key]
  )
  assert.deepEqual(await first.list('ben'), [])
  assert.equal(await second.endOthers(session), true)
  assert.equal(await second.endOthers(session), false, 'there are none any more')
  assert.equal(await first.use(more.key), null)
  assert.ok(await first.use(session.key))
  await second.end(session.key)
  assert.equal(await first.use(session.key), null)
})
