/**
 * What a server starts each night: this program, with what it needs to find the same host.
 */
import { fileURLToPath } from 'node:url'
import { NODE_FLAGS } from '../../config/runtime.js'

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url))

/**
 * @param {import('./index.js').CommonOptions} options - as given to the server; the rest comes by the environment
 * @param {string} data - absolute
 * @returns {string[]} program and arguments of the nightly backup
 */
export function nightlyCommand({ config, defaultDomain }, data) {
  return [
    process.execPath,
    // Not this process's own flags: PM2 gives it what its daemon loads.
    ...NODE_FLAGS,
    MAIN,
    ...['backup', 'nightly', '--data', data],
    ...(config === undefined ? [] : ['--config', config]),
    ...(defaultDomain === undefined ? [] : ['--default-domain', defaultDomain])
  ]
}
