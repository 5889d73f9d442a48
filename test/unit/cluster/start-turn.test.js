import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inTurn } from '../../../src/cluster/start-turn.js'
import { lockAlone } from '../../../src/database/lock.js'
import { MailError } from '../../../src/errors.js'
import { scratchFolder } from '../../helpers/process.js'

test('workers that start at once have their turns one after the other, whatever becomes of one', async (t) => {
  const folder = scratchFolder(t, 'turns')
  /** @type {string[]} */
  const events = []
  const turn = (/** @type {string} */ name) =>
    inTurn(folder, async () => {
      events.push(`${name} begins`)
      // Longer than the others wait before they try again.
      await sleep(60)
      events.push(`${name} ends`)
      if (name === 'fails') throw new MailError('BUSY')
      return name
    })
  const outcomes = await Promise.allSettled(['first', 'fails', 'last'].map(turn))
  assert.equal(events.length, 6)
  for (let at = 0; at < events.length; at += 2)
    assert.equal(events[at]?.replace('begins', 'ends'), events[at + 1])
  assert.deepEqual(
    outcomes.map((outcome) => ('value' in outcome ? outcome.value : outcome.reason.code)),
    ['first', 'BUSY', 'last']
  )
})

test('whose turn is over is in nobody’s way', async (t) => {
  const folder = scratchFolder(t, 'turns')
  // Asked at once: what is forgotten goes with the garbage some day, and the others would wait until then.
  for (let times = 0; times < 5; times++) {
    await inTurn(folder, async () => {})
    const lock = await lockAlone(folder, 'start.lock')
    lock.release()
  }
})

test('a turn that can never come is not waited for', async (t) => {
  const folder = join(scratchFolder(t, 'turns'), 'missing')
  let isBegun = false
  await assert.rejects(
    inTurn(folder, async () => (isBegun = true)),
    (error) => error instanceof MailError && error.code !== 'BUSY'
  )
  assert.equal(isBegun, false)
})
