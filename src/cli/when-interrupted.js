/**
 * Work that is done before a signal ends the program.
 */

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * @param {() => void} work - done at the first of the signals, which then ends the program as ever
 * @param {readonly NodeJS.Signals[]} [signals] - default: all that end a program
 * @returns {() => void} takes that back: the signals end the program without `work` again
 */
export function whenInterrupted(work, signals = SIGNALS) {
  const onSignal = (/** @type {NodeJS.Signals} */ signal) => {
    work()
    release()
    // The signal itself ends the program: an orderly end would wait for threads, which may be busy for long.
    process.kill(process.pid, signal)
  }
  const release = () => {
    for (const signal of signals) process.removeListener(signal, onSignal)
  }
  for (const signal of signals) process.on(signal, onSignal)
  return release
}
