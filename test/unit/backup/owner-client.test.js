import assert from 'node:assert/strict'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
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
