/**
 * Whether long work lets others have their turn, told without measuring time.
 */

/**
 * @template T
 * @param {import('node:test').TestContext} t
 * @param {() => Promise<T>} work
 * @returns {Promise<{ answer: T, turns: number }>} what it gave, and how often something else had its turn meanwhile,
 *   were each look at the clock a slice after the one before
 */
export async function turnsDuring(t, work) {
  const nowMs = performance.now.bind(performance)
  let looks = 0
  const clock = t.mock.method(performance, 'now', () => nowMs() + 10 * looks++)
  let turns = 0
  let isDone = false
  const countTurn = () => {
    turns++
    if (!isDone) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const answer = await work()
  isDone = true
  clock.mock.restore()
  return { answer, turns }
}
