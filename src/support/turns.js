/**
 * Who goes on next where many have work. Each piece of work is cut into slices, but those of a hundred sessions in one turn
 * of the event loop would be half a second in which nobody else is heard. So whoever gives way stands in line, a turn takes
 * as many as have room in it, and users take turns: one with a hundred sessions gets no more than one with a single one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** For so many ms, work is begun in one phase of a turn; one more slice may follow the look at the clock. */
const TURN_MS = 5

/** Whose work runs: an account, `null` for clients that have not logged in, nothing for the server's own. */
const users = new AsyncLocalStorage()

/**
 * Those who wait, by user; who is next comes first.
 *
 * @type {Map<unknown, (() => void)[]>}
 */
const waiting = new Map()

/** Whether `giveTurns` is running or about to: somebody is let go on in this turn or the next one. */
let isGiving = false

/** When `isTurnSpent` was first asked in this turn, monotonic ms; null: it was not. */
let /** @type {number | null} */ beganMs = null

/** Whether so much was done in this turn that nobody is to be let go on in it. */
let isSpent = false

/** Whether those who wait were put off by a turn. */
let isPutOff = false

/** When the work that runs was let go on, monotonic ms; null: none that stood in line runs. */
let /** @type {number | null} */ resumedMs = null

/**
 * @template T
 * @param {string | null} user - an account's id; null for all clients that have not logged in
 * @param {() => T} work - its turns, also after it has waited, are this user's
 * @returns {T}
 */
export function inTurnsOf(user, work) {
  return users.run(user, work)
}

/**
 * @returns {boolean} whether so much was done since the event loop heard of anything new that whoever begins something
 *   should rather stand in line
 */
export function isTurnSpent() {
  const nowMs = performance.now()
  if (beganMs !== null) return nowMs - beganMs >= TURN_MS
  beganMs = nowMs
  setImmediate(() => {
    isSpent = performance.now() - nowMs >= TURN_MS
    beganMs = null
  })
  return false
}

/**
 * @returns {number} since when what runs now has held the event loop, as far as that is known, monotonic ms: whoever begins
 *   in the middle of a turn has only what is left of it
 */
export function turnStartedMs() {
  return resumedMs ?? beganMs ?? performance.now()
}

/**
 * Gives way, at least until the event loop has looked for what is new.
 *
 * @returns {Promise<void>} when it is this one's turn
 */
export function nextTurn() {
  return new Promise((resolve) => {
    const user = users.getStore()
    const others = waiting.get(user)
    if (others) others.push(resolve)
    else waiting.set(user, [resolve])
    if (isGiving) return
    isGiving = true
    setImmediate(giveTurns)
  })
}

/** Lets go on as many of those who wait as this turn has room for; one, if nothing else. */
function giveTurns() {
  // After a turn that is spent, the event loop looks for what is new first; but never twice running, so that all get on.
  isPutOff = (isSpent || (beganMs !== null && isTurnSpent())) && !isPutOff
  isSpent = false
  if (isPutOff) {
    setImmediate(giveTurns)
    return
  }
  const startedMs = performance.now()
  // Only those who wait now: whoever comes back meanwhile has had a turn.
  let left = 0
  for (const { length } of waiting.values()) left += length
  const giveNext = () => {
    left--
    resumedMs = performance.now()
    resumeNext()
    // `goOn` runs when the slice is over: behind all that the slice has put into the queue of microtasks.
    queueMicrotask(() => process.nextTick(goOn))
  }
  const goOn = () => {
    resumedMs = null
    isGiving = waiting.size > 0
    if (!isGiving) return
    if (left > 0 && performance.now() - startedMs < TURN_MS) giveNext()
    else setImmediate(giveTurns)
  }
  giveNext()
}

/** Lets the first waiting work of the first user go on; the rest of that user's then stands behind all other users. */
function resumeNext() {
  const [user, resumes = []] = waiting.entries().next().value ?? []
  const resume = resumes.shift()
  waiting.delete(user)
  if (resumes.length > 0) waiting.set(user, resumes)
  resume?.()
}
