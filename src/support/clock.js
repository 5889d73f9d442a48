/**
 * The only place that asks the machine for the time, so that a test can hand in another clock.
 *
 * @typedef {object} Clock
 * @property {() => number} nowMs - wall-clock time, milliseconds since 1970-01-01T00:00:00Z; of a steady clock, since some
 *   moment before the process began
 */

/** @type {Clock} */
export const systemClock = Object.freeze({ nowMs: () => Date.now() })

/**
 * For time that passes within one process: nobody sets it, forward or back.
 *
 * @type {Clock}
 */
export const steadyClock = Object.freeze({ nowMs: () => performance.now() })
