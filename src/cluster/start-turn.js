/**
 * Workers open a data folder one after the other: the first makes what is missing (directory, pepper, certificate), and the
 * others find it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isMailError } from '../errors.js'
import { lockAlone } from '../database/lock.js'

const RETRY_MS = 20

/**
 * @template T
 * @param {string} runFolder - `<data>/run`
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function inTurn(runFolder, work) {
  const lock = await waitForLock(runFolder)
  try {
    return await work()
  } finally {
    lock.release()
  }
}

/** @param {string} runFolder */
async function waitForLock(runFolder) {
  for (;;) {
    try {
      return await lockAlone(runFolder, 'start.lock')
    } catch (error) {
      if (!isMailError(error, 'BUSY')) throw error
      await sleep(RETRY_MS)
    }
  }
}
