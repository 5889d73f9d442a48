/**
 * A real S3 server on a folder: versitygw, where it is installed
 * (`go install github.com/versity/versitygw/cmd/versitygw@latest`).
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { scratchFolder } from './account-folder.js'
import { freePort } from './free-port.js'

export const S3_ENVIRONMENT = Object.freeze({
  AWS_ACCESS_KEY_ID: 'test-key',
  AWS_SECRET_ACCESS_KEY: 'test-secret-of-no-use'
})

/** @returns {string | null} the program, null where it is not installed */
function findProgram() {
  const goPath = spawnSync('go', ['env', 'GOPATH'], { encoding: 'utf8' }).stdout?.trim()
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    join(goPath || join(homedir(), 'go'), 'bin')
  ]
  return folders.map((folder) => join(folder, 'versitygw')).find((path) => existsSync(path)) ?? null
}

const program = findProgram()

/** For the `skip` option of a test: false where the server is installed, else why the test is left out. */
export const skipWithoutS3 =
  program === null && 'no S3 server: go install github.com/versity/versitygw/cmd/versitygw@latest'

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isListening(port) {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ endpoint: string, bucket: string, folder: string, stop: () => Promise<void> }>} `folder`: where
 *   the bucket's objects lie as files
 */
export async function startS3Server(t) {
  if (program === null) throw new Error('no S3 server')
  const root = await scratchFolder(t)
  const folder = join(root, 'objects', 'backups')
  mkdirSync(folder, { recursive: true })
  const port = await freePort()
  const child = spawn(program, ['--port', `127.0.0.1:${port}`, 'posix', join(root, 'objects')], {
    stdio: 'ignore',
    env: {
      ...process.env,
      ROOT_ACCESS_KEY: S3_ENVIRONMENT.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: S3_ENVIRONMENT.AWS_SECRET_ACCESS_KEY
    }
  })
  const closed = once(child, 'close')
  const stop = async () => {
    child.kill('SIGKILL')
    await closed
  }
  t.after(stop)
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`)
    await sleep(20)
  }
  return { endpoint: `http://127.0.0.1:${port}`, bucket: 'backups', folder, stop }
}
