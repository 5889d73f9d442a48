/**
 * The workers' sockets: `<data>/run/worker-<slot>-<generation>-<pid>.sock`. Old and new process of a slot live side by
 * side during a reload, so each has a path of its own; the name alone says which is the newer.
 */
import { join } from 'node:path'

/** @import { Candidate } from './registrar.js' */

const NAME = /^worker-(\d{1,6})-(\d{1,12})-(\d{1,10})\.sock$/

/**
 * @param {Candidate} worker
 * @returns {string} file name
 */
export const socketNameOf = ({ slot, generation, pid }) =>
  `worker-${slot}-${generation}-${pid}.sock`

/**
 * @param {string} folder
 * @param {string} name - of any file there
 * @returns {Candidate & { path: string } | null} null where it is no worker's socket
 */
export function parseSocketName(folder, name) {
  const match = NAME.exec(name)
  if (match === null) return null
  const [slot, generation, pid] = match.slice(1).map(Number)
  return {
    slot: Number(slot),
    generation: Number(generation),
    pid: Number(pid),
    path: join(folder, name)
  }
}
