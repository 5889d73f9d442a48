/**
 * Says what the tests wait for, where nothing has happened for long: a test that hangs is otherwise told by nobody until the
 * whole run is killed. A reporter of node:test, beside the one that shows the results.
 */
import { setTimeout } from 'node:timers/promises'

/** Longer than any test of ours takes on a quiet machine. */
const QUIET_MS = 180_000

/**
 * @typedef {{ type: string, data: { name?: string, file?: string, testId?: number } }} TestEvent - those of `node:test`
 */

/**
 * @param {AsyncIterable<TestEvent>} events
 * @param {{ quietMs?: number }} [options] - without an event, until something is said, ms
 * @yields {string} lines
 */
export default async function* stillRunning(events, { quietMs = QUIET_MS } = {}) {
  /** @type {Map<string, string>} names by file and id: a file's tests count from 1, as the files do */
  const running = new Map()
  const iterator = events[Symbol.asyncIterator]()
  for (;;) {
    const next = iterator.next()
    let result
    for (let waited = quietMs; !(result = await nextWithin(next, quietMs)); waited += quietMs) {
      yield `nothing has happened for ${Math.round(waited / 60_000)} minutes; still running:\n`
      for (const name of running.values()) yield `  ${name}\n`
    }
    if (result.done) return
    const { type, data } = result.value
    const key = `${data.file} ${data.testId} ${data.name}`
    if (type === 'test:dequeue') running.set(key, nameOf(data))
    else if (type === 'test:complete') running.delete(key)
  }
}

/**
 * @template T
 * @param {Promise<T>} next
 * @param {number} quietMs
 * @returns {Promise<T | undefined>} undefined: it has not come
 */
async function nextWithin(next, quietMs) {
  const timer = new AbortController()
  const { signal } = timer
  try {
    return await Promise.race([next, setTimeout(quietMs, undefined, { signal })])
  } finally {
    timer.abort()
  }
}

/** @param {TestEvent['data']} data */
function nameOf({ name = '', file = '' }) {
  return file.endsWith(name) ? name : `${file}: ${name}`
}
