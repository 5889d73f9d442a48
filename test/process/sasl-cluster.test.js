import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAccounts, scratchFolder } from '../helpers/process.js'
import { startCluster } from '../helpers/cluster.js'
import { SaslClient, plain } from '../helpers/sasl.js'

test('workers share the authentication socket, through reloads and deaths', async (t) => {
  const scratch = scratchFolder(t, 'sasl')
  const data = join(scratch, 'data')
  mkdirSync(data)
  await createAccounts(data, ['anna@example.org'], 'secret')
  const path = join(scratch, 'auth')
  const cluster = await startCluster({
    data,
    workers: 2,
    environment: { LETTERLOCK_SASL_SOCKET: path }
  })
  t.after(() => cluster.stop())
  /** @type {Set<string>} */
  const processes = new Set()
  const logIn = async () => {
    const client = await SaslClient.connect(path)
    try {
      const handshake = await client.greet()
      processes.add(handshake.find((line) => line.startsWith('SPID')) ?? '')
      client.send(
        `AUTH\t1\tPLAIN\tservice=smtp\trip=192.0.2.1\tsecured\tresp=${plain('anna@example.org', 'secret')}`
      )
      assert.equal(await client.line(), 'OK\t1\tuser=anna@example.org')
    } finally {
      client.close()
    }
  }
  await Promise.all(Array.from({ length: 8 }, logIn))
  await cluster.reload()
  await logIn()
  await cluster.kill()
  await logIn()
  assert.ok(processes.size >= 2, 'other processes answer afterwards')
  await cluster.stop()
  assert.doesNotMatch(cluster.output(), /"level":(50|60)/)
})
