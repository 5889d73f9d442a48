/**
 * Whether this process has taken on as much as it can bear. Looked at every second: its memory, its heap, what memory the
 * machine or the container has left, how late the event loop is, and whether a file can still be opened.
 *
 * Whoever is over a bound for some seconds refuses new sessions until it has been clearly below for as long: one peak
 * turns nobody away, and a server at its bound does not change its mind with each look.
 */
import { getHeapStatistics } from 'node:v8'
import { freeMemory } from '../support/free-memory.js'
import { memoryOfHost } from '../support/host-memory.js'
import { residentMemory } from './resident-memory.js'

/** Between two looks, ms. */
const LOOK_MS = 1000
/** Looks in a row that make it refuse, or take again. */
const LOOKS = 3
/** What a figure has to come down to, as a part of its bound. */
const RELIEF = 0.9
/** Of the machine's or the container's memory, for all workers together; the rest is the page cache's and other programs'. */
const MEMORY_PART = 0.8
/** Of the same, that can be asked to be left, whatever is set: a small container would never take a session. */
const RESERVE_PART = 0.25
/** Of the largest heap that V8 takes; at its end the process dies. */
const HEAP_PART = 0.9

/** @typedef {'memory' | 'heap' | 'machine' | 'event-loop' | 'descriptors'} Pressure */

/**
 * @typedef {object} PressureFigures
 * @property {number | null} rssBytes - null: the process, or the machine, has no file descriptors left
 * @property {number} heapBytes
 * @property {number} heapLimitBytes
 * @property {number} availableBytes - memory that programs may still take, on this machine or in its container
 *
 * @typedef {object} PressureBounds
 * @property {number} memoryBytes - resident memory of this process
 * @property {number} reserveBytes - what the machine or the container must have left; 0: not looked at
 * @property {number} eventLoopMs - 0: not looked at
 */

/**
 * @param {object} options
 * @param {{ memoryBytes: number, memoryReserveBytes: number, eventLoopDelayMs: number }} options.limits - the settings;
 *   `memoryBytes` 0: by the memory that there is
 * @param {number} options.workers - processes that share it
 * @param {number} [options.totalBytes] - the memory that there is
 * @returns {PressureBounds}
 */
export function boundsOf({ limits, workers, totalBytes = memoryOfHost() }) {
  return {
    memoryBytes: limits.memoryBytes || Math.floor((totalBytes * MEMORY_PART) / workers),
    reserveBytes: Math.min(limits.memoryReserveBytes, Math.floor(totalBytes * RESERVE_PART)),
    eventLoopMs: limits.eventLoopDelayMs
  }
}

/** @returns {PressureFigures} */
function readFigures() {
  const heap = getHeapStatistics()
  const resident = residentMemory()
  return {
    rssBytes: resident.isCurrent ? resident.bytes : null,
    heapBytes: heap.used_heap_size,
    heapLimitBytes: heap.heap_size_limit,
    availableBytes: freeMemory()
  }
}

/** Looks, and says whether new sessions are refused. */
export class PressureGuard {
  #bounds
  #read
  #onChange
  #timer
  #lastMs = performance.now()
  /** Looks in a row that say otherwise than the state. */
  #contrary = 0
  /** @type {Pressure | null} */
  #pressure = null
  #refused = 0

  /**
   * @param {object} options
   * @param {PressureBounds} options.bounds
   * @param {(pressure: Pressure | null) => void} [options.onChange]
   * @param {() => PressureFigures} [options.readFigures]
   * @param {number} [options.lookMs] - between two looks
   */
  constructor({ bounds, onChange = () => {}, readFigures: read = readFigures, lookMs = LOOK_MS }) {
    this.#bounds = bounds
    this.#read = read
    this.#onChange = onChange
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      const lateMs = nowMs - this.#lastMs - lookMs
      this.#lastMs = nowMs
      this.look(lateMs)
    }, lookMs)
    this.#timer.unref()
  }

  /** @returns {Pressure | null} why new sessions are refused; null: they are not */
  get pressure() {
    return this.#pressure
  }

  /** @returns {{ refusing: number, refused: number }} 1 while sessions are refused; how many were */
  get figures() {
    return { refusing: this.#pressure === null ? 0 : 1, refused: this.#refused }
  }

  /**
   * To be asked by whoever is about to take a new session.
   *
   * @returns {boolean} whether it may; one that may not is counted
   */
  admits() {
    if (this.#pressure === null) return true
    this.#refused++
    return false
  }

  /** @param {number} lateMs - by which the event loop was late for this look */
  look(lateMs) {
    const over = this.#overBound(lateMs, this.#pressure === null ? 1 : RELIEF)
    const isContrary = (over === null) !== (this.#pressure === null)
    this.#contrary = isContrary ? this.#contrary + 1 : 0
    if (this.#contrary < LOOKS) return
    this.#contrary = 0
    this.#pressure = over
    this.#onChange(over)
  }

  /**
   * @param {number} lateMs
   * @param {number} part - of each bound
   * @returns {Pressure | null}
   */
  #overBound(lateMs, part) {
    const { memoryBytes, reserveBytes, eventLoopMs } = this.#bounds
    const { rssBytes, heapBytes, heapLimitBytes, availableBytes } = this.#read()
    if (rssBytes === null) return 'descriptors'
    if (rssBytes > memoryBytes * part) return 'memory'
    if (heapBytes > heapLimitBytes * HEAP_PART * part) return 'heap'
    if (reserveBytes > 0 && availableBytes < reserveBytes / part) return 'machine'
    return eventLoopMs > 0 && lateMs > eventLoopMs * part ? 'event-loop' : null
  }

  /** Stops looking. */
  close() {
    clearInterval(this.#timer)
  }
}
