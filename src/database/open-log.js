/**
 * Facts about an open write-ahead log that each sync needs: whether it still lies where it was opened, and how long it is.
 *
 * `fstat` tells both, and makes the sync after it slower. Since Linux 6.13 a file whose times were asked for gets new ones with
 * the next write, instead of some every 4 ms ("multigrain timestamps"), and ext4 without a journal writes an inode that has
 * changed at every fdatasync: 0.23 instead of 0.17 ms for two frames (measured). So `fstat` is called as seldom as possible
 * (a "look"), and the kernel's name of the descriptor says whether the file has moved or gone; without /proc, `fstat` does.
 */
import { fstatSync, readlinkSync } from 'node:fs'
import { steadyClock } from '../support/clock.js'
import { isWorthRoom, makeRoomAtEnd } from './log-room.js'

/** @typedef {import('../support/clock.js').Clock} Clock */

/** At most so many syncs from one look to the next, while the log does not grow. */
const MAX_SYNCS_A_LOOK = 16

/** Looks become rarer once so many of them in a row found no growth: until then its room may be used up at any moment. */
const FREQUENT_LOOKS = 4

/** After so many ms the file gets new times anyway, so that a look costs nothing. */
const STALE_MS = 100

/**
 * @param {number} descriptor
 * @returns {string | null} path of the descriptor's file, followed by ` (deleted)` once it was removed; null: there is no /proc
 */
function placeOf(descriptor) {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return null
  }
}

/** The facts about one descriptor's log. */
export class OpenLog {
  #descriptor
  #place
  /** Size of the log at the last look, bytes, with the room that was made in it since. */
  #size
  #clock
  #lookedMs
  /** Syncs since the last look; the look is due at `#syncsToLook`. */
  #syncs = 0
  #syncsToLook = 1
  /** How many looks in a row found no growth. */
  #looksWithoutGrowth = 0
  /** By so many bytes each sync made the log longer, as of the last look that found it longer. */
  #growth = 0
  #wantsRoom

  /**
   * @param {number} descriptor - writable, unless nothing is written here
   * @param {Clock} [clock] - steady
   */
  constructor(descriptor, clock = steadyClock) {
    this.#descriptor = descriptor
    this.#clock = clock
    this.#lookedMs = clock.nowMs()
    this.#place = placeOf(descriptor)
    this.#size = fstatSync(descriptor).size
    this.#wantsRoom = this.#noteGrowth(this.#size)
  }

  /** @returns {number} bytes, as of the last look */
  get size() {
    return this.#size
  }

  /** @returns {boolean} true: the log surely lies where it was opened; false: only a look at that path can tell */
  get isUnmoved() {
    return this.#place !== null && placeOf(this.#descriptor) === this.#place
  }

  /** @returns {boolean} whether to look at this sync; to be called once for each sync */
  countSync() {
    this.#syncs++
    if (this.#syncs >= this.#syncsToLook) return true
    return this.#clock.nowMs() - this.#lookedMs >= STALE_MS
  }

  /** @returns {boolean} whether the file still has a name */
  look() {
    const { nlink, size } = fstatSync(this.#descriptor)
    this.#wantsRoom = this.#noteGrowth((size - this.#size) / Math.max(this.#syncs, 1))
    this.#size = size
    this.#lookedMs = this.#clock.nowMs()
    this.#syncs = 0
    const rarer = Math.max(0, this.#looksWithoutGrowth - FREQUENT_LOOKS)
    this.#syncsToLook = Math.min(2 ** rarer, MAX_SYNCS_A_LOOK)
    return nlink > 0
  }

  /**
   * @param {number} growth - of one sync, bytes; less than 0 where it was cut back
   * @returns {boolean} whether the next commit is to make room
   */
  #noteGrowth(growth) {
    // A log that was cut back will grow again, so it does not count as one without growth.
    this.#looksWithoutGrowth = growth === 0 ? this.#looksWithoutGrowth + 1 : 0
    if (growth > 0) this.#growth = growth
    return isWorthRoom(growth)
  }

  /**
   * Where small commits make the file longer, gives it room for some more. To be called with the write lock of the database
   * held, see log-room.js.
   */
  makeRoom() {
    if (!this.#wantsRoom) return
    this.#wantsRoom = false
    const before = this.#size
    this.#size = makeRoomAtEnd(this.#descriptor)
    // Commits that fit into the room need no look.
    this.#syncsToLook = Math.max(1, Math.floor((this.#size - before) / this.#growth))
  }
}
