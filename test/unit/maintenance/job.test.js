import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SETTINGS } from '../../../config/default.js'
import {
  DAY_MS,
  NEVER_RUN,
  hasFailedSince,
  isDue,
  isInHours,
  nextState
} from '../../../src/maintenance/job.js'

/** @typedef {import('../../../src/maintenance/job.js').MaintenanceJob} MaintenanceJob */

/** @type {any} */
const settings = Object.fromEntries(
  Object.entries(SETTINGS)
    .filter(([name]) => name.startsWith('maintenance.'))
    .map(([name, { value }]) => [name.slice('maintenance.'.length), value])
)
const nowMs = new Date(2026, 5, 1, 12).getTime()
const account = { id: '0123456789abcdef', createdAtMs: nowMs - 400 * DAY_MS }

/**
 * @param {Partial<MaintenanceJob> & { everyMs?: number }} job
 * @param {object} [facts]
 */
function due({ everyMs = DAY_MS, ...job }, facts = {}) {
  const whole = /** @type {any} */ ({ name: 'x', intervalMs: () => everyMs, ...job })
  return isDue(whole, {
    account,
    state: NEVER_RUN,
    settings,
    nowMs,
    isRequested: false,
    ...facts
  })
}

test('a job is due when its interval is over, and a new account is not due at once', () => {
  assert.equal(due({}), true)
  assert.equal(due({}, { state: { ...NEVER_RUN, doneAtMs: nowMs - 1.3 * DAY_MS } }), true)
  assert.equal(due({}, { state: { ...NEVER_RUN, doneAtMs: nowMs - 0.7 * DAY_MS } }), false)
  assert.equal(due({}, { account: { ...account, createdAtMs: nowMs } }), false)
  assert.equal(due({ everyMs: 0 }, { account: { ...account, createdAtMs: nowMs } }), true)
  assert.equal(due({ everyMs: Infinity }), false)
})

test('the mailboxes of a fleet come at different times', () => {
  const state = { ...NEVER_RUN, doneAtMs: nowMs - DAY_MS }
  const ids = Array.from({ length: 100 }, (_, i) => `account ${i}`)
  const count = ids.filter((id) => due({}, { state, account: { ...account, id } })).length
  assert.ok(count > 20 && count < 80, `${count} of 100`)
})

test('an operator who asks waits neither for the interval nor for a retry', () => {
  const state = { ...NEVER_RUN, doneAtMs: nowMs, failures: 9, nextTryAtMs: nowMs + DAY_MS }
  assert.equal(due({}, { state }), false)
  assert.equal(due({}, { state, isRequested: true }), true)
  assert.equal(due({ everyMs: Infinity }, { isRequested: true }), false)
})

test('how often it failed and when it is tried again tell whether it failed since it was asked for', () => {
  /** @type {import('../../../src/accounts/directory-port.js').MaintenanceState} */
  let state = NEVER_RUN
  const since = (/** @type {number} */ ms) => hasFailedSince(state, { sinceMs: nowMs + ms, nowMs })
  assert.equal(since(-DAY_MS), false)
  for (let failures = 1; failures < 9; failures++) {
    state = nextState(state, { result: 'failed', code: 'DISK_FULL', nowMs })
    assert.deepEqual([since(-1), since(0), since(1)], [true, true, false])
  }
  // What was skipped is tried again much later.
  state = nextState({ ...state, failures: 1 }, { result: 'skipped', code: null, nowMs })
  assert.equal(since(-1), false)
})

test('what has been switched off since it failed is due until it has come to a good end, at its hours', () => {
  const failed = { ...NEVER_RUN, doneAtMs: nowMs, failures: 2, nextTryAtMs: nowMs - 1 }
  assert.equal(due({ everyMs: Infinity }, { state: failed }), true)
  assert.equal(due({ everyMs: Infinity }, { state: failed, isRequested: true }), true)
  const later = { ...failed, nextTryAtMs: nowMs + 1000 }
  assert.equal(due({ everyMs: Infinity }, { state: later }), false)
  const night = { ...settings, fromHour: 22, toHour: 5 }
  const heavy = { everyMs: Infinity, isHeavy: true }
  assert.equal(due(heavy, { state: failed, settings: night }), false)
  const ended = nextState(failed, { result: 'idle', code: null, nowMs })
  assert.equal(due({ everyMs: Infinity }, { state: ended }), false)
})

for (const everyMs of [0, DAY_MS])
  test(`what was done, or failed, while the clock was years ahead keeps no job of ${everyMs} ms away`, () => {
    const aheadMs = nowMs + 3650 * DAY_MS
    assert.equal(due({ everyMs }, { state: { ...NEVER_RUN, doneAtMs: aheadMs } }), true)
    const failed = { ...NEVER_RUN, doneAtMs: nowMs - 9 * DAY_MS, failures: 1, nextTryAtMs: aheadMs }
    assert.equal(due({ everyMs }, { state: failed }), true)
    assert.equal(due({ everyMs }, { account: { ...account, createdAtMs: aheadMs } }), true)
  })

test('heavy jobs keep to their hours, unless they are a week overdue', () => {
  const night = { ...settings, fromHour: 22, toHour: 5 }
  const state = { ...NEVER_RUN, doneAtMs: nowMs - 3 * DAY_MS }
  assert.equal(due({ isHeavy: true }, { state, settings: night }), false)
  assert.equal(due({ isHeavy: false }, { state, settings: night }), true)
  assert.equal(due({ isHeavy: true }, { state, settings: night, isRequested: true }), true)
  const late = { ...NEVER_RUN, doneAtMs: nowMs - 9 * DAY_MS }
  assert.equal(due({ isHeavy: true }, { state: late, settings: night }), true)
})

for (const [fromHour, toHour, inside, outside] of /** @type {const} */ ([
  [0, 24, [0, 12, 23], []],
  [1, 5, [1, 4], [0, 5, 23]],
  [22, 5, [22, 23, 0, 4], [5, 21]]
]))
  test(`hours from ${fromHour} to ${toHour}`, () => {
    const at = (/** @type {number} */ hour) => new Date(2026, 0, 1, hour, 59).getTime()
    for (const hour of inside) assert.equal(isInHours(at(hour), { fromHour, toHour }), true)
    for (const hour of outside) assert.equal(isInHours(at(hour), { fromHour, toHour }), false)
  })

test('failures are counted, each pause is longer, up to a day; a good end forgets them', () => {
  let state = NEVER_RUN
  const pauses = []
  for (let i = 0; i < 8; i++) {
    state = nextState(state, { result: 'failed', code: 'DISK_FULL', nowMs })
    pauses.push(Number(state.nextTryAtMs) - nowMs)
  }
  assert.equal(state.failures, 8)
  assert.equal(state.failedCode, 'DISK_FULL')
  assert.deepEqual(
    pauses,
    [...pauses].sort((a, b) => a - b)
  )
  assert.equal(pauses[0], 300_000)
  assert.equal(pauses[7], DAY_MS)
  const good = nextState(state, { result: 'idle', code: null, nowMs })
  assert.deepEqual(good, { ...NEVER_RUN, doneAtMs: nowMs })
})

test('what gave way, or had no room, is tried again without counting as a failure', () => {
  for (const result of /** @type {const} */ (['stopped', 'skipped'])) {
    const state = nextState({ ...NEVER_RUN, doneAtMs: 5 }, { result, code: null, nowMs })
    assert.equal(state.failures, 0)
    assert.equal(state.doneAtMs, 5)
    assert.ok(Number(state.nextTryAtMs) > nowMs)
  }
})
