/**
 * What node:crypto has been given of a key, OpenSSL clears when the object around it is collected. A server with little to do
 * makes so little garbage that this may take the better part of an hour, so whoever lets go of keys has the collector come.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** People come and go in crowds: one collection, of a millisecond or two, does for all of them, ms. */
const SOON_MS = 1_000

/** @type {NodeJS.Timeout | null} */
let timer = null

/** @type {((options: { type: 'minor' }) => void) | null} */
let collect = null

/** Has what died young collected in a moment: such objects of ours live for a turn of the event loop. */
export function collectSoon() {
  timer ??= setTimeout(() => {
    timer = null
    collect ??= exposeCollector()
    collect({ type: 'minor' })
  }, SOON_MS).unref()
}

/** @returns {(options: { type: 'minor' }) => void} V8's own, which contexts have that are made while the flag is set */
function exposeCollector() {
  setFlagsFromString('--expose-gc')
  const exposed = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return exposed
}
