/**
 * A folder of a command's own that is to go with it, also at Ctrl-C: nothing that is as large as a mailbox stays behind.
 */
import { rmSync } from 'node:fs'

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * @param {string} folder
 * @returns {() => void} lets the signals end the program as ever, when the folder is gone or looked after otherwise
 */
export function goneWhenInterrupted(folder) {
  const onSignal = (/** @type {NodeJS.Signals} */ signal) => {
    // A thread may make a file in it meanwhile.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
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
