/**
 * What is put right before a signal ends the program.
 */

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * @param {() => void} work - done at the first of the signals, which then ends the program as ever
 * @param {readonly NodeJS.Signals[]} [signals] - default: all that end a program
 * @returns {() => void} lets the signals end the program without it again
 */
export function whenInterrupted(work, signals = SIGNALS) {
  const onSignal = (/** @type {NodeJS.Signals} */ signal) => {
    work()
    release()
    // As without this: a thread may be busy for long, and would be waited for by an ordered end.
    process.kill(process.pid, signal)
  }
  const release = () => {
    for (const signal of signals) process.removeListener(signal, onSignal)
  }
  for (const signal of signals) process.on(signal, onSignal)
  return release
}
