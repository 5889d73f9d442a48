/**
 * What this process has done since it started. There is one set of counters for the process: whoever does the work adds to a
 * number here, and nobody else is told. Reading them makes a plain object, which can cross to another process; those of
 * several workers are merged by addition (`mergeSnapshots`).
 */
import { DurationHistogram, Histogram } from './histogram.js'

/** @typedef {import('./histogram.js').HistogramSnapshot} HistogramSnapshot */

/** @typedef {'OK' | 'NO' | 'BAD'} Result - how a command may end */

/** Commands by name and result. */
class CommandCounters {
  /** @type {string[]} */
  #names = []
  /** @type {{ OK: number, NO: number, BAD: number, histogram: DurationHistogram }[]} */
  #slots = []

  /**
   * To be called once for each name, when the program starts.
   *
   * @param {string} name
   * @returns {number} under which `record` counts it
   */
  slotOf(name) {
    this.#names.push(name)
    return this.#slots.push({ OK: 0, NO: 0, BAD: 0, histogram: new DurationHistogram() }) - 1
  }

  /**
   * @param {number} slot
   * @param {Result} result
   * @param {number | null} ms - null: its time is the client's, not ours (IDLE)
   */
  record(slot, result, ms) {
    const counts = this.#slots[slot]
    if (counts === undefined) return
    counts[result]++
    if (ms !== null) counts.histogram.observeMs(ms)
  }

  /** @returns {Record<string, { OK: number, NO: number, BAD: number, duration: HistogramSnapshot }>} that were used */
  snapshot() {
    const entries = this.#slots.map(
      ({ OK, NO, BAD, histogram }, slot) =>
        /** @type {const} */ ([
          /** @type {string} */ (this.#names[slot]),
          { OK, NO, BAD, duration: histogram.snapshot() }
        ])
    )
    return Object.fromEntries(entries.filter(([, { OK, NO, BAD }]) => OK + NO + BAD > 0))
  }
}

const logins = { good: 0, refused: 0, throttled: 0, failed: 0 }
const deliveries = { stored: 0, refused: 0, failed: 0, bytes: 0 }
const spool = { drained: 0, setAside: 0 }
const sync = { duration: new DurationHistogram(), group: new Histogram(0), failed: 0 }

export const counters = Object.freeze({
  commands: new CommandCounters(),
  /** `failed`: something in the server was wrong, not the credential. */
  logins,
  /** By recipient; bytes as they came. */
  deliveries,
  spool,
  /** Each sync of a write-ahead log: how long it took, and how many commits it made durable at once. */
  sync
})

/** @returns {CounterSnapshot} */
export function snapshotCounters() {
  return {
    commands: counters.commands.snapshot(),
    logins: { ...logins },
    deliveries: { ...deliveries },
    spool: { ...spool },
    sync: {
      duration: sync.duration.snapshot(),
      group: sync.group.snapshot(),
      failed: sync.failed
    }
  }
}

/**
 * @typedef {object} CounterSnapshot
 * @property {ReturnType<CommandCounters['snapshot']>} commands
 * @property {typeof logins} logins
 * @property {typeof deliveries} deliveries
 * @property {typeof spool} spool
 * @property {{ duration: HistogramSnapshot, group: HistogramSnapshot, failed: number }} sync
 */
