/**
 * What is put right before a signal ends the program.
 */

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * @param {() => void} work - done at the first of the signals that end a program, which then ends it as ever
 * @returns {() => void} lets the signals end the program without it again
 */
export function whenInterrupted(work) {
  const onSignal = (/** @type {NodeJS.Signals} */ signal) => {
    work()
    release()
    // As without this: a thread may be busy for long, and would be waited for by an ordered end.
    process.kill(process.pid, signal)
  }
  const release = () => {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return release
}
