import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterInSlices, Slicer } from '../../../src/support/slicer.js'
import { turnsDuring } from '../../helpers/turns.js'

/** @param {() => boolean} isSo - by chance it may not be at once, on a machine that stands still for a moment */
const soon = (isSo) => Array.from({ length: 100 }).some(isSo)

test('others have a turn when a slice is used up, and then a new one begins', async () => {
  const slicer = new Slicer()
  let turns = 0
  setImmediate(() => turns++)
  while (!slicer.isSpent);
  assert.equal(turns, 0)
  await slicer.breathe()
  assert.equal(turns, 1)
})

test('who has given way otherwise begins a new slice', () => {
  const slicer = new Slicer()
  while (!slicer.isSpent);
  const isFresh = () => {
    slicer.begin()
    return !slicer.isSpent
  }
  assert.ok(soon(isFresh))
})

test('work that was called off ends at the next look', async () => {
  const controller = new AbortController()
  const slicer = new Slicer(controller.signal)
  await slicer.breathe()
  controller.abort(new Error('gone'))
  await assert.rejects(slicer.breathe(), /gone/)
})

test('what is wanted of many is found in order, and others have their turn meanwhile', async (t) => {
  const many = Array.from({ length: 50_000 }, (_, index) => index)
  const { answer, turns } = await turnsDuring(t, () =>
    filterInSlices(many, (item, index) => item === index && item % 3 === 0, new Slicer())
  )
  assert.deepEqual(
    answer,
    many.filter((item) => item % 3 === 0)
  )
  assert.ok(turns >= 10, `${turns} turns`)
})
