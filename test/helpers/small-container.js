/**
 * A group of processes with little memory, like a container, for tests of the program's behaviour there.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Where groups of this process are made and what their limit is called: version 1 of control groups, then 2.
 *
 * @type {[root: string, own: RegExp, limit: string][]}
 */
const VERSIONS = [
  ['/sys/fs/cgroup/memory', /^\d+:memory:(.*)$/m, 'memory.limit_in_bytes'],
  ['/sys/fs/cgroup', /^0::(.*)$/m, 'memory.max']
]

/**
 * @param {number} bytes - that all processes of it may have together
 * @returns {string | null} the folder of a new group; null where this user may make none
 */
function makeGroup(bytes) {
  const groups = readFileSync('/proc/self/cgroup', 'utf8')
  for (const [root, own, limit] of VERSIONS) {
    const group = join(root, own.exec(groups)?.[1] ?? '', `letterlock-test-${process.pid}`)
    try {
      mkdirSync(group)
    } catch {
      // No such version here, or no right to it.
      continue
    }
    try {
      writeFileSync(join(group, limit), String(bytes))
      return group
    } catch {
      // Groups can be made, but memory is not shared out among them.
      rmdirSync(group)
    }
  }
  return null
}

/** @returns {boolean} */
function canMakeGroup() {
  try {
    const group = makeGroup(1024 ** 3)
    if (group !== null) rmdirSync(group)
    return group !== null
  } catch {
    // Another system.
    return false
  }
}

/**
 * For the `skip` option of a test: false when it can be run, else why not.
 *
 * @type {false | string}
 */
export const smallContainerIsMissing = canMakeGroup()
  ? false
  : 'no control group can be made by this user'

/**
 * @param {import('node:test').TestContext} t - it goes with the test; what runs in it must have ended by then
 * @param {number} bytes - that all processes of it may have together
 * @returns {string[]} a command that a program runs under to be in it
 */
export function smallContainer(t, bytes) {
  const group = makeGroup(bytes)
  if (group === null) throw new Error('the control group could not be made')
  t.after(() => rmdirSync(group))
  return ['sh', '-c', `echo $$ > ${group}/cgroup.procs && exec "$0" "$@"`]
}
