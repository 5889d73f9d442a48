/**
 * Removes a command's own folder at Ctrl-C and other signals: nothing that is as large as a mailbox stays behind.
 */
import { rmSync } from 'node:fs'
import { whenInterrupted } from './when-interrupted.js'

/**
 * @param {string} folder
 * @returns {() => void} ends that, once the folder is gone or somebody else removes it
 */
export const goneWhenInterrupted = (folder) =>
  // Tried again, as a thread may make a file in it meanwhile.
  whenInterrupted(() =>
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  )
