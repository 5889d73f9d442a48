import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  groupNumber,
  removeStaleSocket,
  setSocketAccess
} from '../../../src/support/unix-socket.js'
import { createAccounts, scratchFolder, startServerProcess } from '../../helpers/process.js'

/** @param {string} path - of a socket whose process is killed then */
async function leaveSocket(path) {
  const program = `require('net').createServer().listen(process.argv[1], () => console.log('up'))`
  const child = spawn(process.execPath, ['-e', program, path])
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
  assert.ok(existsSync(path))
}

test('a server that starts removes the sockets of killed ones, also those that were not yet called theirs', async (t) => {
  const data = scratchFolder(t, 'sockets')
  await createAccounts(data, ['anna@example.org'])
  const run = join(data, 'run')
  mkdirSync(run, { recursive: true })
  const left = ['worker-0-7-123.sock.new', '0badcafe.new', 'worker-0-6-122.sock'].map((name) =>
    join(run, name)
  )
  for (const path of left) {
    await leaveSocket(path)
    utimesSync(path, 1, 1)
  }
  const fresh = join(run, 'worker-1-1-124.sock.new')
  await leaveSocket(fresh)
  const note = join(run, 'note')
  writeFileSync(note, 'of somebody')
  const server = await startServerProcess(t, { data })
  while (left.some((path) => existsSync(path)))
    await new Promise((resolve) => setTimeout(resolve, 20))
  // It may be bound, and not listened to yet.
  assert.ok(existsSync(fresh))
  assert.ok(existsSync(note))
  assert.equal(readdirSync(run).filter((name) => /^owner-.*\.sock$/.test(name)).length, 1)
  assert.equal(await server.stop(), 0, server.output())
  assert.doesNotMatch(server.output(), /"level":"(warn|error)"/)
})

test('the socket of a killed process goes; one that answers and any other file stay', async (t) => {
  const folder = scratchFolder(t, 'socket')
  const stale = join(folder, 'stale')
  await leaveSocket(stale)
  await removeStaleSocket(stale)
  assert.ok(!existsSync(stale))

  const used = join(folder, 'used')
  const server = createServer()
  await new Promise((resolve) => server.listen(used, () => resolve(undefined)))
  t.after(() => server.close())
  await removeStaleSocket(used)
  assert.ok(existsSync(used))

  const file = join(folder, 'file')
  writeFileSync(file, 'of somebody')
  await assert.rejects(removeStaleSocket(file), { code: 'CONFIG_INVALID', detail: /is no socket/ })
  assert.ok(existsSync(file))
  await removeStaleSocket(join(folder, 'not there'))
})

test('the socket of a process that is too busy to take another connection stays', async (t) => {
  const path = join(scratchFolder(t, 'socket'), 'busy')
  const program = `require('net').createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
    require('fs').writeSync(1, 'up')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`
  const child = spawn(process.execPath, ['-e', program, path])
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  for (let isFull = false; !isFull;) {
    const socket = connect(path)
    t.after(() => socket.destroy())
    isFull = await once(socket, 'connect').then(
      () => false,
      ({ code }) => code === 'EAGAIN'
    )
  }
  await removeStaleSocket(path)
  assert.ok(existsSync(path))
})

test('mode and group of a socket are set', async (t) => {
  const path = join(scratchFolder(t, 'socket'), 'auth')
  const server = createServer()
  await new Promise((resolve) => server.listen(path, () => resolve(undefined)))
  t.after(() => server.close())
  await setSocketAccess(path, { mode: 0o660, group: process.getgid?.() ?? null })
  assert.equal(statSync(path).mode & 0o777, 0o660)
  assert.equal(statSync(path).gid, process.getgid?.())
  await setSocketAccess(path, { mode: 0o600, group: null })
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a group is a name of the file, a number, or none', async (t) => {
  const file = join(scratchFolder(t, 'group'), 'group')
  writeFileSync(file, 'root:x:0:\npostfix:x:113:\n')
  assert.equal(await groupNumber('', file), null)
  assert.equal(await groupNumber('42', file), 42)
  assert.equal(await groupNumber('postfix', file), 113)
  await assert.rejects(groupNumber('nobody-here', file), { code: 'CONFIG_INVALID' })
})
