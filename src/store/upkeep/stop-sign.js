/**
 * How a thread that looks after a mailbox slice by slice is told to end.
 */

/** The place in the shared numbers. */
const STOP = 0

/**
 * @param {SharedArrayBuffer} shared - of `StopSign`
 * @returns {boolean} whether the thread should end after the slice that is done
 */
export const isToldToStop = (shared) => Atomics.load(new Int32Array(shared), STOP) !== 0

/** The store's side. */
export class StopSign {
  /** For the thread. */
  shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  #numbers = new Int32Array(this.shared)
  #ends

  /** @param {readonly AbortSignal[]} signals - each of which stops the thread */
  constructor(signals) {
    const stop = () => Atomics.store(this.#numbers, STOP, 1)
    if (signals.some(({ aborted }) => aborted)) stop()
    for (const one of signals) one.addEventListener('abort', stop, { once: true })
    this.#ends = signals.map((one) => () => one.removeEventListener('abort', stop))
  }

  /** To be called when the thread has ended. */
  end() {
    for (const end of this.#ends) end()
  }
}
