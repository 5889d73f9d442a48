/**
 * Whether this process has taken on as much as it can bear. Every second it looks at its memory, its heap, what memory the
 * machine or the container has left, how late the event loop is, and whether a file can still be opened.
 *
 * A process that is over a bound for some seconds refuses new sessions until it has been clearly below for as long: one peak
 * turns nobody away, and a server at its bound does not change its mind with each look.
 */
import { getHeapStatistics } from 'node:v8'
import { freeMemory } from '../support/free-memory.js'
import { memoryOfHost } from '../support/host-memory.js'
import { residentMemory } from './resident-memory.js'

/** Between two looks, ms. */
const LOOK_MS = 1000
/** After so many looks in a row that say so, the process refuses new sessions, or takes them again. */
const LOOKS = 3
/** A figure has to come down to this part of its bound before sessions are taken again. */
const RELIEF = 0.9
/** All workers together may take this part of the machine's or the container's memory; the rest is for page cache and others. */
const MEMORY_PART = 0.8
/** The reserve is at most this part of that memory, whatever is set: else a small container would never take a session. */
const RESERVE_PART = 0.25
/** The bound of the heap, as a part of the largest that V8 takes: where that is full, the process dies. */
const HEAP_PART = 0.9

/** @typedef {'memory' | 'heap' | 'machine' | 'event-loop' | 'descriptors'} Pressure */

/**
 * @typedef {object} PressureFigures
 * @property {number | null} rssBytes - resident memory; null: the process, or the machine, has no file descriptor left
 * @property {number} heapBytes
 * @property {number} heapLimitBytes
 * @property {number} availableBytes - memory that programs may still take, on this machine or in this container
 *
 * @typedef {object} PressureBounds
 * @property {number} memoryBytes - resident memory of this process
 * @property {number} reserveBytes - what the machine or the container must have left; 0: not looked at
 * @property {number} eventLoopMs - 0: not looked at
 */

/**
 * @param {object} options
 * @param {{ memoryBytes: number, memoryReserveBytes: number, eventLoopDelayMs: number }} options.limits - the settings;
 *   `memoryBytes` 0: derived from `totalBytes`
 * @param {number} options.workers - processes that share the memory
 * @param {number} [options.totalBytes] - the machine's or the container's memory
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
  /** How many looks in a row have contradicted the state. */
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
   * To be asked before each new session.
   *
   * @returns {boolean} whether the session may be taken; one that may not is counted as refused
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
