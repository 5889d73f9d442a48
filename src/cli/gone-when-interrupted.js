/**
 * A folder of a command's own that is to go with it, also at Ctrl-C: nothing that is as large as a mailbox stays behind.
 */
import { rmSync } from 'node:fs'
import { whenInterrupted } from './when-interrupted.js'

/**
 * @param {string} folder
 * @returns {() => void} lets the signals end the program as ever, when the folder is gone or looked after otherwise
 */
export const goneWhenInterrupted = (folder) =>
  // A thread may make a file in it meanwhile.
  whenInterrupted(() =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  )
