import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectOwners } from '../../../src/backup/owner-client.js'
import { scratchFolder } from '../../helpers/process.js'

test('where one process cannot be asked, the connections to the others end', async (t) => {
  const folder = scratchFolder(t, 'owners')
  const server = createServer().listen(join(folder, 'owner-1-aa.sock'))
  t.after(() => server.close())
  await once(server, 'listening')
  symlinkSync('owner-1-bb.sock', join(folder, 'owner-1-bb.sock'))
  const accepted = once(server, 'connection')
  await assert.rejects(connectOwners(folder), { code: 'ELOOP' })
  const [socket] = await accepted
  await once(socket.resume(), 'close')
})

const CHILD = fileURLToPath(new URL('owner-child.js', import.meta.url))
const hasStrace = spawnSync('strace', ['-V']).status === 0

test(
  'a process that is asked while it begins to listen can be asked afterwards, too',
  { skip: hasStrace ? false : 'needs strace' },
  async (t) => {
    const folder = scratchFolder(t, 'owner-begins')
    // Between bind(2) and listen(2) the socket refuses connections, as one does that a killed process has left.
    const delay = ['-e', 'trace=listen', '-e', 'inject=listen:delay_enter=500000']
    const command = ['-f', '-qq', ...delay, process.execPath, CHILD, folder]
    const child = spawn('strace', command, { stdio: ['pipe', 'pipe', 'ignore'] })
    t.after(() => child.stdin.destroy())
    child.stdout.pause()
    while (child.stdout.read() === null)
      for (const owner of await connectOwners(folder)) owner.close()
    const owners = await connectOwners(folder)
    assert.equal(owners.length, 1)
    for (const owner of owners) owner.close()
    const closed = once(child, 'close')
    child.stdin.end()
    await closed
  }
)
