import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Link } from '../../../src/cluster/link.js'

const MIB = 1024 * 1024

test('what a worker that hangs does not read is kept within a bound', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-link-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'worker.sock')
  // Takes the connection, and never looks at it.
  const server = createServer({ pauseOnConnect: true })
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  server.on('connection', (socket) => sockets.push(socket))
  await new Promise((resolve) => server.listen(path, () => resolve(undefined)))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { promise: isClosed, resolve: onClose } = Promise.withResolvers()
  const link = await Link.connect(path, () => onClose(undefined))
  const value = 'x'.repeat(MIB)
  let told = 0
  while (told < 100 && !link.isClosed) {
    link.tell({ op: 'notice', kind: 'test', value })
    told++
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(told < 100, `${told} MiB wait for it`)
  await isClosed
  assert.equal(await link.ask({ op: 'ping' }), null)
})
