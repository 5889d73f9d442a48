/**
 * What a host knows by itself of its last runs: which was the last in a place, and what came after it.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  changeLastResults,
  forgetDamage,
  noResults,
  readLastResults,
  withResult
} from '../../../src/backup/last-results.js'
import { lastRunIn, requireNoneLost } from '../../../src/backup/last-run.js'
import { MailError } from '../../../src/errors.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { recordingLogger } from '../../helpers/log-lines.js'

const RUNS = ['2036-01-01T03-00-00Z', '2026-11-22T03-00-00Z', '2026-11-21T03-00-00Z-2'].map(
  (generation) => ({ detail: { target: '/backup', generation } })
)
const OTHER = { detail: { target: '/other', generation: '2026-11-23T03-00-00Z' } }
const at = (/** @type {string} */ time) => Date.parse(time)

test('the last run in a place is one into that place, since it was set up, and none that is yet to come', () => {
  const runs = [OTHER, { detail: undefined }, ...RUNS]
  for (const [label, now, setUp, expected] of /** @type {const} */ ([
    ['/backup', '2026-11-25', '1970-01-01', '2026-11-22T03-00-00Z'],
    ['/backup', '2026-11-22T03:00:00Z', '1970-01-01', '2026-11-22T03-00-00Z'],
    ['/backup', '2026-11-22T02:59:59.999Z', '1970-01-01', '2026-11-21T03-00-00Z-2'],
    ['/backup', '2026-11-25', '2026-11-22T03:00:00.999Z', '2026-11-22T03-00-00Z'],
    ['/backup', '2026-11-25', '2026-11-22T03:00:01Z', null],
    ['/backup', '2037-01-01', '1970-01-01', '2036-01-01T03-00-00Z'],
    ['/other', '2026-11-25', '1970-01-01', '2026-11-23T03-00-00Z'],
    ['/third', '2026-11-25', '1970-01-01', null]
  ])) {
    const place = { label, nowMs: at(now), setUpMs: at(setUp) }
    assert.equal(lastRunIn(runs, place), expected, `${label} ${now} ${setUp}`)
    if (expected === null) requireNoneLost(runs, place)
    else assert.throws(() => requireNoneLost(runs, place), { code: 'BACKUP_DAMAGED' })
  }
})

test('what followed a backup is remembered for its place alone, until it goes well or is stored anew', async (t) => {
  const data = await scratchFolder(t)
  const { logger } = recordingLogger()
  const [here, there] = ['/backup', '/other'].map((label) => ({ data, target: { label } }))
  assert.ok(here && there)
  assert.deepEqual(await readLastResults(here), noResults())
  const fail = async (/** @type {Error} */ error) => {
    throw error
  }
  const lost = new MailError('BACKUP_DAMAGED', { detail: 'x is missing' })
  const failures = { prune: { code: 'BACKUP_DAMAGED', detail: 'x is missing' } }
  await assert.rejects(
    withResult('prune', { ...there, logger }, () => fail(lost)),
    lost
  )
  await assert.rejects(
    withResult('prune', { ...here, logger }, () => fail(lost)),
    lost
  )
  const damaged = ['a', 'b', 'c'].map((id) => ({ id, code: 'BACKUP_DAMAGED' }))
  await changeLastResults(here, () => ({ damaged }))
  assert.equal(await withResult('rehearsal', { ...here, logger }, async () => 'well'), 'well')
  assert.deepEqual(await readLastResults(here), { failures, damaged })
  // Of these `a` was stored anew, `b` is an older one in it, and `c` is gone.
  await forgetDamage(here, { done: new Map([['a', 1]]), entries: [{ id: 'a' }, { id: 'b' }] })
  assert.deepEqual(await readLastResults(here), { failures, damaged: damaged.slice(1, 2) })
  await withResult('prune', { ...here, logger }, async () => {})
  assert.deepEqual(await readLastResults(here), { failures: {}, damaged: damaged.slice(1, 2) })
  assert.deepEqual(await readLastResults(there), { failures, damaged: [] })
  await writeFile(join(data, 'backup-results.json'), '{')
  assert.deepEqual(await readLastResults(there), noResults())
})
