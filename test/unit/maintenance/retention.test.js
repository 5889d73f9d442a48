/**
 * What is deleted by its age, and what is not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../../src/maintenance/job.js'
import { appendMany } from '../../helpers/account-folder.js'
import { setUp } from '../../helpers/looked-after.js'

test('retention takes Trash and Junk by the configured days, and nothing without them', async (t) => {
  const settings = { 'maintenance.trashDays': 30, 'maintenance.junkDays': 10 }
  const { enter, run, clock, open } = await setUp(t, settings)
  const { store } = await enter()
  for (const name of ['Trash', 'Junk', 'INBOX']) await appendMany(store, name, 2)
  const counts = async () =>
    Promise.all(
      ['Trash', 'Junk', 'INBOX'].map(async (name) => (await store.mailboxStatus(name)).messageCount)
    )
  // After a long time without, or with a clock that leapt ahead, the second run does what is due.
  const seen = []
  for (const days of [18, 2, 18, 2]) {
    clock.advance(days * DAY_MS)
    await run(store)
    seen.push(await counts())
  }
  assert.deepEqual(seen, [
    [2, 2, 2],
    [2, 0, 2],
    [2, 0, 2],
    [0, 0, 2]
  ])
  assert.equal((await open()).config.maintenance.trashDays, 30)
})

test('a clock that is years ahead for an hour empties neither Trash nor Junk', async (t) => {
  const settings = { 'maintenance.trashDays': 30, 'maintenance.junkDays': 10 }
  const { enter, run, clock } = await setUp(t, settings)
  const { store } = await enter()
  for (const name of ['Trash', 'Junk']) await appendMany(store, name, 2)
  clock.advance(2 * DAY_MS)
  await run(store)
  for (const days of [3650, -3648]) {
    clock.advance(days * DAY_MS)
    await run(store)
    for (const name of ['Trash', 'Junk'])
      assert.equal((await store.mailboxStatus(name)).messageCount, 2, name)
  }
})

test('with days for one of them the other stays as it is, and what is younger stays in both', async (t) => {
  for (const [trashDays, junkDays, left] of /** @type {const} */ ([
    [0, 10, [3, 1]],
    [10, 0, [1, 3]]
  ])) {
    const settings = { 'maintenance.trashDays': trashDays, 'maintenance.junkDays': junkDays }
    const { enter, run, clock, services } = await setUp(t, settings)
    const { store } = await enter()
    for (const name of ['Trash', 'Junk']) await appendMany(store, name, 2)
    clock.advance(5 * DAY_MS)
    for (const name of ['Trash', 'Junk']) await appendMany(store, name, 1)
    clock.advance(6 * DAY_MS)
    // Who asks for it does not wait for a second run.
    await services.directory.requestMaintenance(null)
    await run(store)
    const counts = ['Trash', 'Junk'].map(
      async (name) => (await store.mailboxStatus(name)).messageCount
    )
    assert.deepEqual(await Promise.all(counts), left)
  }
})
