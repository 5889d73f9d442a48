import { test } from 'node:test'
import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { unreadableBackups } from '../../../src/backup/backup-list.js'
import { HostState } from '../../../src/admin/host-state.js'
import { HostSurvey } from '../../../src/admin/survey.js'
import { snapshotCounters } from '../../../src/telemetry/counters.js'
import { openTestAccounts } from '../../helpers/accounts.js'

const NO_BACKUPS = { ...unreadableBackups(''), isSetUp: false, problem: null }

test('points are kept at their interval, whoever looks meanwhile; the last one is of now', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  const snapshot = {
    sums: {
      .../** @type {any} */ (snapshotCounters()),
      sessions: { connections: 2, loggedIn: 1, idling: 0, background: 0 },
      commands: { NOOP: { OK: 1, NO: 20, BAD: 300 }, FETCH: { OK: 4000, NO: 0, BAD: 0 } },
      logins: { accepted: 9, refused: 1, throttled: 20 },
      deliveries: { stored: 7, refused: 8, failed: 9, bytes: 10 },
      sync: { duration: { counts: [1, 0, 20], sum: 300 } },
      mailboxes: { open: 1 },
      process: { rss: 5 }
    },
    maxima: { eventLoopP99Ms: 3 }
  }
  let asked = 0
  const state = new HostState({
    workers: async () => {
      asked++
      return [snapshot, snapshot]
    },
    silentWorkers: async () => 0,
    survey: /** @type {any} */ (null),
    backups: { list: async () => NO_BACKUPS },
    certificates: () => [],
    services,
    pointMs: 5
  })
  t.after(() => state.close())
  await sleep(30)
  assert.equal(asked, 0, 'a server that still starts knows no workers')
  state.start()
  let points = await state.points()
  while (points.length < 6) {
    clock.advance(1)
    await sleep(2)
    points = await state.points()
  }
  const times = points.map(({ atMs }) => atMs)
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b)
  )
  assert.equal(times.at(-1), clock.nowMs())
  assert.deepEqual(
    [points[0]?.sessions, points[0]?.rssBytes, points[0]?.eventLoopP99Ms],
    [2, 10, 3]
  )
  assert.deepEqual([points[0]?.commands, points[0]?.loginsRefused], [8642, 42])
  assert.deepEqual([points[0]?.deliveries, points[0]?.syncs, points[0]?.openMailboxes], [14, 42, 2])
})

test('a check of the directory serves for ten minutes, unless it failed, and a list of backups for one', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  const asked = { checks: 0, lists: 0 }
  const failing = { isSo: false }
  services.directory.quickCheck = async () => {
    asked.checks++
    if (failing.isSo) throw new Error('of the disk')
    return { problems: [], misfits: [], keyless: [] }
  }
  const list = async () => {
    asked.lists++
    return NO_BACKUPS
  }
  const state = new HostState({
    workers: async () => [],
    silentWorkers: async () => 0,
    survey: /** @type {any} */ (null),
    backups: { list },
    certificates: () => [],
    services
  })
  const counts = []
  for (const afterMs of [0, 0, 600_000, 1, 600_001, -600_001]) {
    clock.advance(afterMs)
    await Promise.all([state.checkDirectory(), state.checkDirectory()])
    counts.push(asked.checks)
  }
  assert.deepEqual(counts, [1, 1, 1, 2, 3, 4])
  failing.isSo = true
  clock.advance(600_001)
  await assert.rejects(state.checkDirectory(), /of the disk/)
  failing.isSo = false
  await state.checkDirectory()
  assert.equal(asked.checks, 6)

  await state.listBackups()
  clock.advance(5001)
  await state.listBackups()
  assert.equal(asked.lists, 1)
  await state.listBackups({ isRecent: true })
  assert.equal(asked.lists, 2)
  clock.advance(60_001)
  await state.listBackups()
  assert.equal(asked.lists, 3)
})

test('where the disk cannot be looked at any more, nothing is said to be well by an earlier look', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { directory, clock, logger } = services
  const whichAreOpen = async () => []
  const survey = new HostSurvey({ data, directory, whichAreOpen, clock, logger })
  const state = new HostState({
    workers: async () => [],
    silentWorkers: async () => 0,
    survey,
    backups: { list: async () => NO_BACKUPS },
    certificates: () => [],
    services
  })
  t.after(() => state.close())
  const statuses = async () => {
    const { checks } = await state.deepHealth()
    const ofDisk = checks.filter(({ name }) => ['spool', 'wal', 'integrity'].includes(name))
    return ofDisk.map(({ status }) => status)
  }
  const [first, second] = await Promise.all([survey.read(), survey.read()])
  assert.equal(first, second, 'whoever asks before the first look is over waits for that')
  assert.deepEqual(await statuses(), ['ok', 'ok', 'ok'])
  await rename(data, `${data}-elsewhere`)
  try {
    await assert.rejects(survey.look(), { code: 'ENOENT' })
    assert.deepEqual(await statuses(), ['fail', 'fail', 'fail'])
    assert.equal(await state.survey(), first, 'figures are told with their age')
  } finally {
    await rename(`${data}-elsewhere`, data)
  }
  await survey.look()
  assert.deepEqual(await statuses(), ['ok', 'ok', 'ok'])
})

test('a worker that hangs or refuses is told by the deep check, and what cannot be asked hides nothing else', async (t) => {
  const { services } = await openTestAccounts(t)
  const snapshot = { sums: { workers: 2, pressure: { refusing: 1, refused: 3 } }, maxima: {} }
  const broken = { isSo: false }
  const orBroken = async (/** @type {any} */ answer) => {
    if (broken.isSo) throw new Error('of the cluster')
    return answer
  }
  const state = new HostState({
    workers: () => orBroken([snapshot]),
    silentWorkers: async () => 1,
    survey: /** @type {any} */ ({ readCurrent: () => setImmediate(null) }),
    backups: { list: () => orBroken(NO_BACKUPS) },
    certificates: () => [],
    services
  })
  const look = async () =>
    new Map((await state.deepHealth()).checks.map(({ name, ...check }) => [name, check]))
  const told = await look()
  assert.match(told.get('event-loop')?.text ?? '', /^No answer from 1 of 3 processes/)
  assert.match(told.get('pressure')?.text ?? '', /^No new sessions in 1 of 2 processes/)
  for (const name of ['event-loop', 'pressure']) assert.equal(told.get(name)?.status, 'fail')
  assert.equal(told.get('backup')?.status, 'warn')
  broken.isSo = true
  const hidden = await look()
  for (const name of ['event-loop', 'pressure'])
    assert.match(hidden.get(name)?.text ?? '', /could not be looked at/)
  for (const name of ['certificate', 'maintenance']) assert.equal(hidden.get(name)?.status, 'ok')
})

test('no more points are kept than the charts show, and none once the server is closed', async (t) => {
  const { services } = await openTestAccounts(t)
  const counts = /** @type {any} */ (snapshotCounters())
  const sums = {
    ...{ ...counts, sessions: { loggedIn: 1 }, mailboxes: { open: 1 }, process: { rss: 5 } }
  }
  const asked = { count: 0 }
  const state = new HostState({
    workers: async () => {
      asked.count++
      return [{ sums, maxima: {} }]
    },
    silentWorkers: async () => 0,
    survey: /** @type {any} */ (null),
    backups: { list: async () => NO_BACKUPS },
    certificates: () => [],
    services,
    pointMs: 1
  })
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const { mock } = t.mock.method(globalThis, 'setInterval')
  state.start()
  assert.deepEqual(mock.calls[0]?.arguments.slice(1), [1])
  assert.equal(timers(), before, 'they keep no process from ending')
  mock.restore()
  while (asked.count < 730) await sleep(5)
  state.close()
  // The hour, and the point of now.
  assert.equal((await state.points()).length, 721)
  const { count } = asked
  await sleep(20)
  assert.equal(asked.count, count)
})

test('a directory that is damaged, or has keys that contradict each other, is whole for nobody', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  const found = { problems: ['row 3 missing'], misfits: ['one'], keyless: [] }
  services.directory.quickCheck = async () => ({ ...found })
  const survey = { mailboxes: 0, misshapen: 0, unreadable: 0, damaged: 0 }
  const state = new HostState({
    workers: async () => [],
    silentWorkers: async () => 0,
    survey: /** @type {any} */ ({ readCurrent: async () => survey }),
    backups: { list: async () => NO_BACKUPS },
    certificates: () => [],
    services
  })
  const integrity = async () => {
    clock.advance(600_001)
    const { checks } = await state.deepHealth()
    const check = checks.find(({ name }) => name === 'integrity')
    return `${check?.status}: ${check?.text}`
  }
  assert.match(await integrity(), /^fail: The directory is damaged/)
  found.problems.pop()
  assert.match(await integrity(), /^fail: .* keys that contradict .*, first one:/)
  found.misfits.pop()
  assert.match(await integrity(), /^ok: /)
})
