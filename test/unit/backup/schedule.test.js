import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostIdOf, writeHostState } from '../../../src/backup/host-state.js'
import { nextNight, overdueAt, scheduleNightly } from '../../../src/backup/schedule.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { ManualClock } from '../../helpers/manual-clock.js'

for (const [now, hour, random, expected] of /** @type {const} */ ([
  ['2026-11-21T01:00:00Z', 3, 0, '2026-11-21T03:00:00.000Z'],
  ['2026-11-21T03:00:00Z', 3, 0, '2026-11-22T03:00:00.000Z'],
  ['2026-11-21T23:59:59Z', 0, 0, '2026-11-22T00:00:00.000Z'],
  ['2026-12-31T12:00:00Z', 3, 0.5, '2027-01-01T03:30:00.000Z'],
  ['2026-11-21T01:00:00Z', 3, 1, '2026-11-21T04:00:00.000Z'],
  ['2026-11-21T03:20:00Z', 3, 0.5, '2026-11-21T03:30:00.000Z'],
  ['2026-11-21T03:30:00Z', 3, 0.5, '2026-11-22T03:30:00.000Z'],
  ['2026-11-21T03:59:59Z', 3, 1, '2026-11-21T04:00:00.000Z'],
  ['2026-11-22T00:20:00Z', 23, 0.9, '2026-11-22T23:54:00.000Z']
])) {
  test(`at ${now} the job of ${hour}:00 with jitter ${random} begins at ${expected}`, () => {
    const settings = { hour, cron: '', jitterMinutes: 60 }
    const startMs = nextNight(Date.parse(now), settings, () => random * 60 * 60_000)
    assert.equal(new Date(startMs).toISOString(), expected)
  })
}

for (const [now, cron, expected] of /** @type {const} */ ([
  ['2026-11-21T01:00:00Z', '0 3 * * *', '2026-11-21T03:10:00.000Z'],
  ['2026-11-21T03:10:00Z', '0 3,15 * * *', '2026-11-21T15:10:00.000Z'],
  ['2026-11-21T03:00:00Z', '30 4 * * SUN', '2026-11-22T04:40:00.000Z'],
  ['2026-12-31T12:00:00Z', '0 0 29 2 *', '2028-02-29T00:10:00.000Z']
])) {
  test(`at ${now} the job of "${cron}" begins at ${expected}, in UTC, after its jitter`, (t) => {
    const { TZ } = process.env
    t.after(() => (TZ === undefined ? delete process.env['TZ'] : (process.env['TZ'] = TZ)))
    process.env['TZ'] = 'Asia/Tokyo'
    const settings = { hour: 7, cron, jitterMinutes: 60 }
    const startMs = nextNight(Date.parse(now), settings, () => 10 * 60_000)
    assert.equal(new Date(startMs).toISOString(), expected)
  })
}

for (const [began, cron, jitterMinutes, expected] of /** @type {const} */ ([
  ['2026-11-21T03:20:00Z', '', 60, '2026-11-22T09:20:00.000Z'],
  ['2026-11-21T12:00:00Z', '', 60, '2026-11-22T18:00:00.000Z'],
  ['2026-11-21T03:20:00Z', '', 720, '2026-11-22T20:00:00.000Z'],
  ['2026-11-22T04:31:00Z', '30 4 * * SUN', 60, '2026-11-29T10:30:00.000Z']
]))
  test(`after a backup of ${began} the next one, by "${cron}", is overdue from ${expected} on`, () => {
    const overdueMs = overdueAt(Date.parse(began), { hour: 3, cron, jitterMinutes })
    assert.equal(new Date(overdueMs).toISOString(), expected)
  })

const DAY_MS = 24 * 60 * 60 * 1000

/** Counts how often it is asked. */
class WatchedClock extends ManualClock {
  looks = 0

  /** @override */
  nowMs() {
    this.looks += 1
    return super.nowMs()
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{ isWanted?: boolean, script?: string, nowMs?: number }} [options]
 */
async function start(t, { isWanted = true, script, nowMs = Date.UTC(2026, 10, 21, 1) } = {}) {
  const folder = await scratchFolder(t)
  const mark = join(folder, 'ran')
  const clock = new WatchedClock(nowMs)
  const { logger, lines } = recordingLogger()
  const command = [
    process.execPath,
    '-e',
    script ?? `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`
  ]
  const job = scheduleNightly({
    settings: { hour: 3, cron: '', jitterMinutes: 0 },
    hostId: 'a host',
    command,
    isWanted: async () => isWanted,
    clock,
    logger,
    lookMs: 5
  })
  t.after(() => job.close())
  return { job, clock, lines, mark }
}

/** @param {() => boolean} isTrue */
async function until(isTrue) {
  while (!isTrue()) await sleep(5)
}

test('the job runs at its hour, not before, and once a night', async (t) => {
  const { clock, lines, mark } = await start(t)
  await sleep(50)
  assert.equal(existsSync(mark), false)
  clock.advance(2 * 60 * 60 * 1000)
  await until(() => lines.some(({ msg }) => msg === 'the nightly backup is done'))
  assert.equal(existsSync(mark), true)
  await sleep(50)
  assert.equal(lines.length, 1)
  clock.advance(DAY_MS)
  await until(() => lines.length > 1)
  assert.equal(lines[1]?.msg, 'the nightly backup is done')
})

test('a night whose job cannot be started, or of which nobody can tell whether it is wanted, is told and keeps no other away', async (t) => {
  const folder = await scratchFolder(t)
  const clock = new WatchedClock(Date.UTC(2026, 10, 21, 1))
  const { logger, lines } = recordingLogger()
  let nights = 0
  const command = [join(folder, 'program')]
  const job = scheduleNightly({
    settings: { hour: 3, cron: '', jitterMinutes: 0 },
    hostId: 'a host',
    command,
    isWanted: async () => {
      if (nights++ === 0) throw new Error('the disk does not answer')
      return true
    },
    clock,
    logger,
    lookMs: 5
  })
  t.after(() => job.close())
  for (let night = 1; night <= 3; night++) {
    clock.advance(DAY_MS)
    await until(() => lines.length >= night)
    if (night === 2) command.splice(0, 1, process.execPath, '-e', '')
  }
  const failed = 'the nightly backup could not be started'
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    [failed, failed, 'the nightly backup is done']
  )
})

test('a server that ends while it asks whether a night is wanted starts nothing any more', async () => {
  const clock = new WatchedClock(Date.UTC(2026, 10, 21, 1))
  /** @type {PromiseWithResolvers<boolean>} */
  const answer = Promise.withResolvers()
  const { logger, lines } = recordingLogger()
  let asked = 0
  const job = scheduleNightly({
    settings: { hour: 3, cron: '', jitterMinutes: 0 },
    hostId: 'a host',
    command: [process.execPath, '-e', ''],
    isWanted: () => {
      asked += 1
      return answer.promise
    },
    clock,
    logger,
    lookMs: 5
  })
  clock.advance(DAY_MS)
  await until(() => asked > 0)
  await job.close()
  answer.resolve(true)
  clock.advance(DAY_MS)
  await sleep(100)
  // One that had been started would be told when it ends.
  await job.close()
  assert.deepEqual([asked, lines], [1, []])
})

for (const year of [2036, 2026])
  test(`a clock that was years ahead of a server of ${year} and is set back puts off no night`, async (t) => {
    const { clock, lines } = await start(t, { nowMs: Date.UTC(year, 1, 7, 6, 28) })
    const looked = clock.looks
    await until(() => clock.looks > looked)
    clock.advance(Date.UTC(2036, 1, 7, 6, 28) - clock.nowMs())
    // The night that it has missed, it seems.
    const missed = year === 2026 ? 1 : 0
    await until(() => lines.length === missed)
    clock.advance(Date.UTC(2026, 10, 21, 1) - clock.nowMs())
    const before = clock.looks
    await until(() => clock.looks > before + 3)
    clock.advance(2 * 60 * 60 * 1000)
    await until(() => lines.length > missed)
    assert.equal(lines.at(-1)?.msg, 'the nightly backup is done')
  })

test('a server that is started anew every minute of a night does its job once', async (t) => {
  const clock = new WatchedClock(Date.UTC(2026, 10, 21, 2, 55))
  const { logger, lines } = recordingLogger()
  for (let minute = 0; minute < 75; minute++) {
    const job = scheduleNightly({
      settings: { hour: 3, cron: '', jitterMinutes: 60 },
      hostId: 'a host',
      command: [process.execPath, '-e', ''],
      isWanted: async () => true,
      clock,
      logger,
      lookMs: 1
    })
    clock.advance(60_000)
    const before = clock.looks
    await until(() => clock.looks > before + 2)
    await job.close()
  }
  // It ended by itself, or with its server.
  assert.equal(lines.length, 1)
})

test('a job that fails is told with its exit code', async (t) => {
  const { clock, lines } = await start(t, { script: 'process.exit(1)' })
  clock.advance(2 * 60 * 60 * 1000)
  await until(() => lines.length > 0)
  assert.equal(lines[0]?.exitCode, 1)
})

test('where no backups are set up, nothing runs', async (t) => {
  const { clock, mark } = await start(t, { isWanted: false })
  clock.advance(2 * 60 * 60 * 1000)
  await sleep(100)
  assert.equal(existsSync(mark), false)
})

test('a job of last night that still runs is not joined by another, and ends with the server', async (t) => {
  const { clock, lines, job } = await start(t, { script: 'setInterval(() => {}, 1000)' })
  clock.advance(2 * 60 * 60 * 1000)
  await sleep(100)
  clock.advance(DAY_MS)
  await until(() => lines.length > 0)
  assert.equal(lines[0]?.msg, 'last night’s backup is still running')
  await job.close()
  assert.equal(lines.at(-1)?.signal, 'SIGTERM')
})

test('the moment of a night is that of the host, whatever its program and its name are by then', async (t) => {
  const data = await scratchFolder(t)
  const minutesAfterHour = async (
    /** @type {string} */ hostId,
    /** @type {string[]} */ command
  ) => {
    const clock = new WatchedClock(Date.UTC(2026, 10, 21, 3))
    /** @type {number[]} */
    const begun = []
    let minute = 0
    const job = scheduleNightly({
      settings: { hour: 3, cron: '', jitterMinutes: 60 },
      hostId,
      command,
      isWanted: async () => {
        begun.push(minute)
        return false
      },
      clock,
      logger: recordingLogger().logger,
      lookMs: 1
    })
    for (; begun.length === 0 && minute <= 60; minute++) {
      const before = clock.looks
      await until(() => clock.looks > before + 3)
      clock.advance(60_000)
    }
    await job.close()
    return begun[0]
  }
  assert.equal(await hostIdOf(data), hostname())
  await writeHostState(data, { repositoryId: 'one', recipient: 'age1' })
  const hostId = await hostIdOf(data)
  assert.equal(hostId, 'one')
  const first = await minutesAfterHour(hostId, ['node-24', 'main.js'])
  assert.notEqual(first, undefined)
  assert.equal(await minutesAfterHour(hostId, ['node-26', 'main.js']), first)
  assert.notEqual(await minutesAfterHour('two', ['node-24', 'main.js']), first)
})
