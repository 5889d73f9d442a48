/**
 * OpenSSL clears its copy of a key that node:crypto was given when the object around the copy is collected. A server with little
 * to do makes so little garbage that this may take the better part of an hour, so whoever lets go of keys has garbage made.
 *
 * V8's own `gc` would do as well. But once it had been called, by a context that had it, 1,000 logins took three times as long,
 * and each session twice the memory.
 */

/** Waited after the last of a crowd that comes or goes, ms: whatever is in use during a collection is taken for long-lived. */
const QUIET_MS = 1_000
/** A crowd that has no end is waited for at most so many ms. */
const LONGEST_MS = 30_000

/** Bytes of garbage; the young generation has room for at most as many (config/runtime.js), and is collected once or twice. */
const FILL_BYTES = 16 * 1024 * 1024
const WORD_BYTES = 8
/** Words of one piece of garbage: small enough to be young. */
const PIECE_WORDS = 8_000

/** @type {NodeJS.Timeout | null} */
let timer = null

/** When the first call came that waits for a collection, of `performance.now()`. */
let sinceMs = 0

/** @type {{ piece: unknown[] | null }} kept here for a moment, so that no compiler leaves it out */
const last = { piece: null }

/** Has what died young collected in a moment. The objects around keys die young: they live for one turn of the event loop. */
export function collectSoon() {
  if (timer === null) sinceMs = performance.now()
  else if (performance.now() - sinceMs > LONGEST_MS - QUIET_MS) return
  else clearTimeout(timer)
  timer = setTimeout(() => {
    timer = null
    fillYoungGeneration()
  }, QUIET_MS).unref()
}

function fillYoungGeneration() {
  for (let bytes = 0; bytes < FILL_BYTES; bytes += PIECE_WORDS * WORD_BYTES)
    last.piece = new Array(PIECE_WORDS)
  last.piece = null
}
