import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../../helpers/process.js'
import { WireClient } from '../../helpers/wire-client.js'

test('a live session is told of messages that import brings in beside the server, in IDLE and at NOOP', async (t) => {
  const folder = scratchFolder(t, 'import-live')
  const data = join(folder, 'data')
  mkdirSync(data)
  await createAccounts(data, ['ann@example.org'], 'pass')
  const { ports } = await startServerProcess(t, { data })
  const client = await WireClient.connect(ports.imap)
  t.after(() => client.socket.destroy())
  client.send('a LOGIN ann@example.org pass\r\nb SELECT INBOX\r\n')
  await client.until(/^b OK.*\r\n/m)
  const importOne = async (/** @type {string} */ name) => {
    const file = join(folder, `${name}.eml`)
    writeFileSync(file, `Subject: ${name}\n\nbody\n`)
    const args = ['import', '--data', data, '--password-stdin', file]
    const { code, stderr } = await letterlock(args, { input: 'pass\n' })
    assert.equal(code, 0, stderr)
  }
  await importOne('first')
  client.send('c NOOP\r\n')
  assert.match(String(await client.until(/^c OK.*\r\n/m)), /^\* 1 EXISTS\r\n/m)
  client.send('d IDLE\r\n')
  await client.until(/^\+ .*\r\n/m)
  await importOne('second')
  assert.match(String(await client.until(/^\* \d+ EXISTS\r\n/m)), /^\* 2 EXISTS\r\n/m)
  client.send('DONE\r\n')
  await client.until(/^d OK.*\r\n/m)
  client.send('e SEARCH SUBJECT first\r\nf SEARCH TEXT "SECOND" NOT SEEN\r\n')
  assert.match(String(await client.until(/^f OK.*\r\n/m)), /^\* SEARCH 1\r\n[^]*^\* SEARCH 2\r\n/m)
})
