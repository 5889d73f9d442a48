/**
 * Statements that nothing may have to wait for run in a child process: a thread cannot be ended inside a statement, a
 * child can, and what it had begun is gone with it (the `-wal` keeps nothing that was not committed).
 *
 * The child runs a module that is made for a thread (see thread.js). It is started by a thread, because starting a
 * process copies the page tables of this one: 14 ms with 350 MB in use, on the event loop (measured).
 *
 *     event loop ─► child-starter.js, a thread ─► child-host.js, a process ─► the module, a thread of that
 */
import { MailError } from '../errors.js'
import { runThread } from './thread.js'

const STARTER = new URL('child-starter.js', import.meta.url)

/**
 * @param {URL} module - posts ThreadMessages; its `workerData` is `data` with the key as `key`
 * @param {object} options
 * @param {object} options.data - plain values, nothing secret: they travel beside the key
 * @param {SharedArrayBuffer} options.key - 32 bytes, the caller's
 * @param {string} [options.writtenFile] - what it writes much of at a time, such as a `-wal`: synced while it does, so
 *   that no other file's sync has to wait for all of that
 * @param {AbortSignal} [options.signal] - kills the child at once
 * @param {(pid: number) => void} [options.onStart]
 * @returns {Promise<unknown>} the value of its `done` message, once the process is gone
 * @throws {MailError} what it failed with; SHUTTING_DOWN when it was killed by `signal`
 */
export async function runChild(module, { data, key, writtenFile, signal, onStart }) {
  if (signal?.aborted) throw new MailError('SHUTTING_DOWN')
  /** @type {number | null} */
  let childId = null
  const kill = () => {
    if (childId !== null) killIfThere(childId)
  }
  signal?.addEventListener('abort', kill, { once: true })
  try {
    return await runThread(STARTER, {
      data: { module: module.href, data, key, writtenFile },
      // Ends the thread too: a child that it has just started goes with it.
      ...(signal && { signal }),
      onProgress: (pid) => {
        childId = /** @type {number} */ (pid)
        if (signal?.aborted) kill()
        else onStart?.(childId)
      }
    })
  } finally {
    signal?.removeEventListener('abort', kill)
  }
}

/** @param {number} pid */
function killIfThere(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // It has come to its end by itself.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}
