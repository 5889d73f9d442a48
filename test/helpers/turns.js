/**
 * Finds out, without measuring time, whether long work lets others have their turn.
 */

import { setImmediate } from 'node:timers/promises'

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<{ answer: T, turns: number }>} the result of `work`, and how often something else had its turn meanwhile
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
 * The same as `countTurns`, with a clock that goes on by a slice at each reading.
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
  // Goes on in a new turn: in this one, work would count as begun at the time of the mocked clock.
  await setImmediate()
  return counted
}
