/**
 * Whether long work lets others have their turn, told without measuring time.
 */

import { setImmediate } from 'node:timers/promises'

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<{ answer: T, turns: number }>} what it gave, and how often something else had its turn meanwhile
 */
export async function countTurns(work) {
  let turns = 0
  let isDone = false
  const countTurn = () => {
    turns++
    if (!isDone) globalThis.setImmediate(countTurn)
  }
  globalThis.setImmediate(countTurn)
  const answer = await work()
  isDone = true
  return { answer, turns }
}

/**
 * The same, were each look at the clock a slice after the one before.
 *
 * @template T
 * @param {import('node:test').TestContext} t
 * @param {() => Promise<T>} work
 * @returns {Promise<{ answer: T, turns: number }>}
 */
export async function turnsDuring(t, work) {
  const nowMs = performance.now.bind(performance)
  let looks = 0
  const clock = t.mock.method(performance, 'now', () => nowMs() + 10 * looks++)
  const counted = await countTurns(work)
  clock.mock.restore()
  // Whatever else is done in this turn would count as begun when the other clock said so.
  await setImmediate()
  return counted
}
