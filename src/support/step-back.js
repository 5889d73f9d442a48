/**
 * Lets the thread that calls it leave the processors to those that clients wait for. Linux keeps a niceness for each
 * thread (setpriority(2), "C library/kernel differences"); elsewhere it would be the whole process's.
 */
import { setPriority } from 'node:os'

/** A thread of this niceness gets about a tenth of a processor that all want, and all of one that nobody else wants. */
export const BACKGROUND_NICENESS = 10

/** Cannot be taken back: a process may lower its priority, but not raise it. */
export function stepBack() {
  if (process.platform === 'linux') setPriority(BACKGROUND_NICENESS)
}
