/**
 * Several workers over one data folder, as processes of their own (cluster-primary.js), on free ports of loopback.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ENVIRONMENT, portsIn } from './process.js'

const PRIMARY = fileURLToPath(new URL('./cluster-primary.js', import.meta.url))

/**
 * @typedef {object} Cluster
 * @property {number} pid - of the process whose children the workers are
 * @property {Record<'imap' | 'imaps' | 'lmtp' | 'admin' | 'userPage', number>} ports - on 127.0.0.1; NaN for what is off
 * @property {() => string} output - standard output and error of all workers so far
 * @property {() => Promise<void>} reload - one worker after the other is replaced
 * @property {() => Promise<number>} kill - SIGKILL to a random worker; gives its process id once it
 *   was started again
 * @property {() => Promise<void>} stop
 */

/**
 * @param {object} options
 * @param {string} options.data
 * @param {number} options.workers
 * @param {string[]} [options.args]
 * @param {Record<string, string>} [options.environment]
 * @returns {Promise<Cluster>} when all workers are ready; they end with this process at the latest
 */
export async function startCluster({ data, workers, args = [], environment = {} }) {
  const listen = ['imap', 'imaps', 'lmtp', 'admin'].flatMap((name) => [`--${name}`, '127.0.0.1:0'])
  const child = spawn(
    process.execPath,
    [PRIMARY, String(workers), 'serve', '--data', data, ...listen, ...args],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: { ...ENVIRONMENT, ...environment } }
  )
  let text = ''
  child.stdout?.on('data', (chunk) => (text += chunk))
  child.stderr?.on('data', (chunk) => (text += chunk))
  const exited = once(child, 'exit')
  const answer = async (/** @type {string} */ kind) => {
    for (;;) {
      const [message] = await Promise.race([once(child, 'message'), exited.then(() => [null])])
      if (message === null) throw new Error(`the workers have ended:\n${text}`)
      if (message.done === kind) return message.answer
    }
  }
  await answer('up')
  return {
    pid: child.pid ?? 0,
    ports: portsIn(text),
    output: () => text,
    reload: async () => {
      child.send('reload')
      await answer('reload')
    },
    kill: async () => {
      child.send('kill')
      return await answer('kill')
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      await exited
    }
  }
}
