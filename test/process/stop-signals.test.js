import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'
import { WireClient } from '../helpers/wire-client.js'

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ server: import('../helpers/process.js').ServerProcess, sender: WireClient }>} a server, and in the middle
 *   of a message one who delivers: told to stop, it waits for the rest
 */
async function startWithDelivery(t) {
  const data = join(scratchFolder(t, 'stop'), 'data')
  await createAccounts(data, ['anna@example.org'])
  const server = await startServerProcess(t, { data })
  const sender = await WireClient.connect(server.ports.lmtp)
  t.after(() => sender.destroy())
  sender.send('LHLO mta\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<anna@example.org>\r\nDATA\r\n')
  await sender.until(/354 .*\r\n/)
  return { server, sender }
}

test('two signals at once, as when a service is stopped and its starter passes the signal on, are one wish', async (t) => {
  const { server, sender } = await startWithDelivery(t)
  const exited = once(server.child, 'exit')
  // Two of one kind might reach it as one.
  server.child.kill('SIGTERM')
  server.child.kill('SIGINT')
  await server.says('stopping')
  sender.send('Subject: late\r\n\r\nstill taken\r\n.\r\n')
  await sender.until(/250 2\.0\.0 Sealed.*\r\n/)
  sender.destroy()
  assert.deepEqual(await exited, [0, null])
  assert.match(server.output(), /^stopped$/m)
})

test('a second one a moment later ends the server at once', async (t) => {
  const { server } = await startWithDelivery(t)
  const exited = once(server.child, 'exit')
  server.child.kill('SIGINT')
  await server.says('stopping')
  await sleep(600)
  server.child.kill('SIGINT')
  assert.deepEqual(await exited, [null, 'SIGKILL'])
})
