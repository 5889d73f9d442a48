/**
 * Another Node for the contenders, from the npm packages that carry the official binaries.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { arch } from 'node:os'
import { join } from 'node:path'

/** Pinned, so that two runs of `--node 22` are the same program. */
export const NODE_VERSIONS = Object.freeze({ 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' })

/**
 * @param {string} wanted - a major release of NODE_VERSIONS, or an exact version
 * @returns {string}
 * @throws {Error} for anything else
 */
export function nodeVersion(wanted) {
  const pinned = /** @type {Record<string, string>} */ (NODE_VERSIONS)[wanted]
  if (pinned !== undefined) return pinned
  if (/^\d+\.\d+\.\d+$/.test(wanted)) return wanted
  throw new Error(`--node takes ${Object.keys(NODE_VERSIONS).join(', ')} or an exact version`)
}

/**
 * @param {string} wanted
 * @param {string} folder - a temporary one
 * @returns {string} path of the binary
 */
export function installNode(wanted, folder) {
  const name = `node-linux-${arch()}`
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const flags = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, `${name}@${nodeVersion(wanted)}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit']
  })
  return join(folder, 'node_modules', name, 'bin', 'node')
}
