/**
 * How much lies in each spool, for the quota check of every recipient. A folder is measured once; arrivals of this process
 * are then added. What other processes do to the folder shows in its mtime, and at the latest after ten seconds.
 */

import { stat } from 'node:fs/promises'
import { measureSpool } from './spool.js'

/** A count is believed for so many ms: the quota is wrong by no more than what came or went in that time. */
const MAX_AGE_MS = 10_000
/** At most so many spools are remembered, about 200 bytes each; the one that was measured first is forgotten first. */
const MAX_ENTRIES = 10_000

/**
 * @typedef {object} SpoolUsage
 * @property {number} bytes - on disk, padding included
 * @property {number} messages
 */

/** @typedef {SpoolUsage & { changedAtNs: bigint, measuredAtMs: number, hasArrivals: boolean }} Entry */

/** Remembers the usage of spools. */
export class SpoolMeter {
  #clock
  /** @type {Map<string, Entry>} by spool folder */
  #entries = new Map()

  /** @param {import('../support/clock.js').Clock} clock */
  constructor(clock) {
    this.#clock = clock
  }

  /**
   * What was added to a count may have been in it already, and may have hidden that others took mail out.
   *
   * @param {string} spoolFolder
   * @param {{ isMeasured?: boolean }} [how] - true: only a count will do to which nothing was added since
   * @returns {Promise<SpoolUsage>}
   */
  async usage(spoolFolder, { isMeasured = false } = {}) {
    const changedAtNs = await changeTime(spoolFolder)
    const known = this.#entries.get(spoolFolder)
    const nowMs = this.#clock.nowMs()
    const isFresh =
      known !== undefined &&
      !(isMeasured && known.hasArrivals) &&
      known.changedAtNs === changedAtNs &&
      Math.abs(nowMs - known.measuredAtMs) < MAX_AGE_MS
    if (isFresh) return { bytes: known.bytes, messages: known.messages }
    const usage = await measureSpool(spoolFolder)
    this.#remember(spoolFolder, { ...usage, changedAtNs, measuredAtMs: nowMs, hasArrivals: false })
    return usage
  }

  /**
   * To be called when this process has added a file to the spool.
   *
   * @param {string} spoolFolder
   * @param {number} bytes
   */
  async noteArrival(spoolFolder, bytes) {
    const changedAtNs = await changeTime(spoolFolder)
    const known = this.#entries.get(spoolFolder)
    if (known === undefined) return
    known.bytes += bytes
    known.messages += 1
    known.changedAtNs = changedAtNs
    known.hasArrivals = true
  }

  /**
   * @param {string} spoolFolder
   * @param {Entry} entry
   */
  #remember(spoolFolder, entry) {
    this.#entries.delete(spoolFolder)
    this.#entries.set(spoolFolder, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest)
  }
}

/**
 * @param {string} folder
 * @returns {Promise<bigint>} mtime in ns; 0 where there is no folder
 */
async function changeTime(folder) {
  try {
    return (await stat(folder, { bigint: true })).mtimeNs
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return 0n
    throw error
  }
}
