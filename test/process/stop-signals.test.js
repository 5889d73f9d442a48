import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  createAccounts,
  ENVIRONMENT,
  portsIn,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient } from '../helpers/wire-client.js'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<string>} a data folder with an account
 */
async function dataFolder(t) {
  const data = join(scratchFolder(t, 'stop'), 'data')
  await createAccounts(data, ['anna@example.org'])
  return data
}

/**
 * @param {import('node:test').TestContext} t
 * @param {number} port - of LMTP
 * @returns {Promise<{ finish: () => Promise<void> }>} who delivers is in the middle of a message: told to stop, the server waits
 *   for the rest
 */
async function beginDelivery(t, port) {
  const sender = await WireClient.connect(port)
  t.after(() => sender.destroy())
  sender.send('LHLO mta\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<anna@example.org>\r\nDATA\r\n')
  await sender.until(/354 .*\r\n/)
  const finish = async () => {
    sender.send('Subject: late\r\n\r\nstill taken\r\n.\r\n')
    await sender.until(/250 2\.0\.0 Sealed.*\r\n/)
    sender.destroy()
  }
  return { finish }
}

test('two signals at once, as when a service is stopped and its starter passes the signal on, are one wish', async (t) => {
  const server = await startServerProcess(t, { data: await dataFolder(t) })
  const delivery = await beginDelivery(t, server.ports.lmtp)
  const exited = once(server.child, 'exit')
  // Two of one kind might reach it as one.
  server.child.kill('SIGTERM')
  server.child.kill('SIGINT')
  await server.says('stopping')
  await delivery.finish()
  assert.deepEqual(await exited, [0, null])
  assert.match(server.output(), /^stopped$/m)
})

test('a second one a moment later ends the server at once', async (t) => {
  const server = await startServerProcess(t, { data: await dataFolder(t) })
  await beginDelivery(t, server.ports.lmtp)
  const exited = once(server.child, 'exit')
  server.child.kill('SIGINT')
  await server.says('stopping')
  await sleep(600)
  server.child.kill('SIGINT')
  assert.deepEqual(await exited, [null, 'SIGKILL'])
})

test('SIGTERM to the shell that npm start runs is one to the server: npm as the first process of a container stops it in peace', async (t) => {
  const data = await dataFolder(t)
  const { scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'))
  const listen = ['imap', 'imaps', 'lmtp', 'admin'].map((name) => `--${name} 127.0.0.1:0`)
  const command = `${scripts.start} --data '${data}' ${listen.join(' ')}`
  // A group of its own: whatever is left of it ends with the test.
  const shell = spawn('sh', ['-c', command], { cwd: PROJECT, env: ENVIRONMENT, detached: true })
  const group = -(shell.pid ?? assert.fail('there is no shell'))
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += chunk))
  const closed = once(shell, 'close')
  t.after(() => {
    try {
      process.kill(group, 'SIGKILL')
    } catch {
      // Nothing is left, as it should be.
    }
  })
  const says = async (/** @type {RegExp} */ words) => {
    while (!words.test(output)) {
      if (shell.exitCode !== null || shell.signalCode !== null)
        assert.fail(`it has ended, and there is no ${words} in:\n${output}`)
      await Promise.race([once(shell.stdout, 'data'), once(shell, 'exit')])
    }
  }
  await says(/^ready$/m)
  const delivery = await beginDelivery(t, portsIn(output).lmtp)
  shell.kill('SIGTERM')
  await says(/^stopping$/m)
  await delivery.finish()
  assert.deepEqual(await closed, [0, null])
  assert.match(output, /^stopped$/m)
})
