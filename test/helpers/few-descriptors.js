/**
 * A process that may have few descriptors open, and one that has none left.
 */
import { execFile } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Opens files until the system has no more for this process.
 *
 * @param {number} free - descriptors that are left all the same
 * @returns {() => void} closes them again
 */
export function takeDescriptors(free) {
  /** @type {number[]} */
  const taken = []
  try {
    for (;;) taken.push(openSync(devNull, 'r'))
  } catch {
    // EMFILE: no descriptor is left.
  }
  for (const descriptor of taken.splice(0, free)) closeSync(descriptor)
  return () => taken.splice(0).forEach((descriptor) => closeSync(descriptor))
}

/**
 * @param {string} script - of an ES module
 * @param {string[]} args
 * @returns {Promise<string>} what it writes to standard output
 */
export async function runWithFewDescriptors(script, args) {
  // By a shell's `ulimit`, which sets the hard limit as well: Node raises the soft one.
  const limited = 'ulimit -n 80 && exec "$0" --input-type=module -e "$@"'
  const { stdout } = await run('sh', ['-c', limited, process.execPath, script, ...args])
  return stdout
}
