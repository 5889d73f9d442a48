/**
 * What the kernel allows the running server, which may have been started elsewhere, with other limits than this shell's.
 */
import { readdir, readFile, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * @typedef {object} ProcessLimits
 * @property {string[]} limits - the text of /proc/…/limits of each process
 * @property {boolean} isServer - true: the limits are the server's; false: they are this process's
 */

/**
 * @param {string} file - that every process of the server has open
 * @returns {Promise<ProcessLimits>} this process's own where no server runs, or this user may not look at it; empty without
 *   /proc
 */
export async function runningLimits(file) {
  const entries = await readdir('/proc').catch(() => [])
  const others = entries.filter((name) => /^\d+$/.test(name) && name !== `${process.pid}`)
  const path = await realpath(file).catch(() => file)
  const owners = []
  for (const pid of others) if (await hasOpen(pid, path)) owners.push(pid)
  const servers = await limitsOf(owners)
  if (servers.length > 0) return { limits: servers, isServer: true }
  return { limits: await limitsOf(['self']), isServer: false }
}

/**
 * @param {string} pid
 * @param {string} path
 * @returns {Promise<boolean>} false also where the process has gone, or is another user's
 */
async function hasOpen(pid, path) {
  const folder = join('/proc', pid, 'fd')
  const descriptors = await readdir(folder).catch(() => [])
  for (const descriptor of descriptors) {
    const target = await readlink(join(folder, descriptor)).catch(() => '')
    if (target === path) return true
  }
  return false
}

/**
 * @param {readonly string[]} pids
 * @returns {Promise<string[]>} of those that are still there
 */
async function limitsOf(pids) {
  const texts = await Promise.all(
    pids.map((pid) => readFile(join('/proc', pid, 'limits'), 'utf8').catch(() => ''))
  )
  return texts.filter((text) => text !== '')
}
