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

const CHILD = fileURLToPath(new URL('owner-child.js', import.meta.url))
const hasStrace = spawnSync('strace', ['-V']).status === 0

test('where one process cannot be asked, the connections to the others end', async (t) => {
  const folder = scratchFolder(t, 'owners')
  // One of an earlier release, which does not know what it is asked first.
  const server = createServer((socket) =>
    socket.on('data', () => socket.write('{"state":"failed"}\n'))
  ).listen(join(folder, 'owner-1-aa.sock'))
  t.after(() => server.close())
  await once(server, 'listening')
  symlinkSync('owner-1-bb.sock', join(folder, 'owner-1-bb.sock'))
  const accepted = once(server, 'connection')
  await assert.rejects(connectOwners(folder), { code: 'ELOOP' })
  const [socket] = await accepted
  await once(socket, 'close')
})

test('a process that hangs is waited for once, and asked again when it goes on', async (t) => {
  const folder = scratchFolder(t, 'owner-hangs')
  const child = spawn(process.execPath, [CHILD, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  await once(child.stdout, 'data')
  const find = async () => {
    const owners = await connectOwners(folder)
    for (const owner of owners) owner.close()
    return owners.length
  }
  assert.equal(await find(), 1)
  child.kill('SIGSTOP')
  assert.equal(await find(), 0)
  const startedMs = performance.now()
  for (let mailbox = 0; mailbox < 5; mailbox++) assert.equal(await find(), 0)
  const tookMs = performance.now() - startedMs
  t.diagnostic(`five more mailboxes: ${Math.round(tookMs)} ms`)
  child.kill('SIGCONT')
  while ((await find()) === 0);
})

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
