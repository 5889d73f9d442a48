/**
 * A disk of its own that is soon full, for tests of the program's behaviour on it.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MIB = 1024 * 1024

/**
 * @param {string} folder
 * @param {string} options - as mount(8) takes them
 * @returns {boolean}
 */
const mount = (folder, options) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'none', folder]).status === 0

/** @returns {boolean} */
function canMount() {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-disk-'))
  const isMounted = mount(folder, `size=${MIB}`)
  if (isMounted) spawnSync('umount', [folder])
  rmdirSync(folder)
  return isMounted
}

/**
 * For the `skip` option of a test: false when it can be run, else why not.
 *
 * @type {false | string}
 */
export const smallDiskIsMissing = canMount() ? false : 'no small disk can be mounted by this user'

/**
 * @typedef {object} SmallDisk
 * @property {string} root
 * @property {(leftBytes: number) => void} fill - until only so much is free
 * @property {(leftFiles: number) => void} fillFiles - until only so many can still be made, whatever room there is; for a
 *   disk with `files`
 * @property {() => void} clear - what `fill` and `fillFiles` have written goes
 * @property {(isReadOnly: boolean) => void} setReadOnly - as a file system becomes where it meets an error; nobody may have a
 *   file of it open for writing
 */

/**
 * @param {import('node:test').TestContext} t - it goes with the test; what is open on it must be closed by then
 * @param {number} bytes
 * @param {{ files?: number }} [options] - `files`: how many files and folders it can hold; no bound unless told
 * @returns {SmallDisk}
 */
export function smallDisk(t, bytes, { files = 0 } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'letterlock-disk-'))
  if (!mount(root, `size=${bytes},nr_inodes=${files}`))
    throw new Error('the small disk could not be mounted')
  t.after(() => {
    // --lazy: a process that was just killed may still have a file open.
    spawnSync('umount', ['--lazy', root])
    rmSync(root, { recursive: true, force: true })
  })
  const ballast = join(root, 'ballast')
  const ballastFiles = join(root, 'ballast-files')
  return {
    root,
    fill: (leftBytes) => {
      rmSync(ballast, { force: true })
      const { bavail, bsize } = statfsSync(root)
      try {
        writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leftBytes)))
      } catch (error) {
        // ENOSPC: somebody else has written meanwhile, and the disk is full all the same.
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOSPC') throw error
      }
    },
    fillFiles: (leftFiles) => {
      mkdirSync(ballastFiles)
      const { ffree } = statfsSync(root)
      for (let i = leftFiles; i < ffree; i++) writeFileSync(join(ballastFiles, `${i}`), '')
    },
    clear: () => {
      for (const path of [ballast, ballastFiles]) rmSync(path, { recursive: true, force: true })
    },
    setReadOnly: (isReadOnly) => {
      const { status } = spawnSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, root])
      if (status !== 0) throw new Error('the small disk could not be mounted otherwise')
    }
  }
}
