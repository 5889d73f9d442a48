import { test } from 'node:test'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient, deliver } from '../helpers/wire-client.js'

const MESSAGE = 'Subject: x\r\n\r\nx\r\n'

test('an alias receives mail and logs in, until it is removed', async (t) => {
  const data = join(scratchFolder(t, 'alias'), 'data')
  await createAccounts(data, ['anna@example.org', 'ben@example.org'])
  const alias = (/** @type {string[]} */ ...args) =>
    letterlock(['account', 'alias', 'anna@example.org', '--data', data, ...args])
  assert.equal((await alias('--add', 'info@example.org')).stdout, 'info@example.org\n')
  assert.match((await alias('--add', 'ben@example.org')).stderr, /exists already/)
  const server = await startServerProcess(t, { data })
  assert.match(
    await deliver(server.ports.lmtp, { to: 'info@example.org', message: MESSAGE }),
    /^250/
  )
  const client = await WireClient.connect(server.ports.imap)
  await client.login('info@example.org')
  assert.match(await client.command('SELECT INBOX'), /\* 1 EXISTS/)
  client.destroy()
  assert.equal((await alias('--remove', 'info@example.org')).stdout, '')
  assert.match(
    await deliver(server.ports.lmtp, { to: 'info@example.org', message: MESSAGE }),
    /^550 5\.1\.1/
  )
  assert.equal((await alias('--remove', 'info@example.org')).code, 1)
})

test('a disabled account: its sessions end, logins and mail are refused; enabled, all is as it was', async (t) => {
  const data = join(scratchFolder(t, 'disable'), 'data')
  await createAccounts(data, ['anna@example.org'])
  const set = (/** @type {string[]} */ ...args) =>
    letterlock(['account', 'set', 'anna@example.org', '--data', data, ...args])
  const server = await startServerProcess(t, { data })
  const client = await WireClient.connect(server.ports.imap)
  await client.login('anna@example.org')
  assert.match((await set('--disable')).stdout, /disabled/)
  assert.match(await client.until(/\* BYE [^\r]*\r\n/), /BYE/)
  const stranger = await WireClient.connect(server.ports.imap)
  assert.match(await stranger.command('LOGIN anna@example.org pass'), /w1 NO/)
  assert.match(await deliver(server.ports.lmtp, { to: 'anna@example.org', message: MESSAGE }), /^5/)
  assert.match((await set('--enable')).stdout, /enabled/)
  await stranger.login('anna@example.org')
  stranger.destroy()
})

test('a quota is set in words, shown, and holds from the next opening on', async (t) => {
  const data = join(scratchFolder(t, 'quota'), 'data')
  await createAccounts(data, ['anna@example.org'])
  const set = (/** @type {string[]} */ ...args) =>
    letterlock(['account', 'set', 'anna@example.org', '--data', data, ...args])
  assert.equal(
    (await set('--quota', '2kB', '--quota-messages', '3')).stdout,
    'anna@example.org: 2.0 kB, 3 messages, enabled\n'
  )
  assert.equal((await set()).code, 2)
  assert.equal((await set('--quota', 'much')).code, 2)
  assert.equal((await set('--enable', '--disable')).code, 2)
  const server = await startServerProcess(t, { data })
  const client = await WireClient.connect(server.ports.imap)
  await client.login('anna@example.org')
  assert.match(await client.command('APPEND INBOX', Buffer.alloc(3000, 'x')), /NO \[OVERQUOTA\]/)
  for (let i = 0; i < 3; i++)
    assert.match(await client.command('APPEND INBOX', Buffer.from(MESSAGE)), /OK/)
  assert.match(await client.command('APPEND INBOX', Buffer.from(MESSAGE)), /NO \[OVERQUOTA\]/)
  client.destroy()
  // The directory, which the delivery asks, has the figures within a second.
  for (;;) {
    const { stdout } = await letterlock(['account', 'list', '--data', data])
    if (stdout.includes('\t3 messages')) break
  }
  assert.match(
    await deliver(server.ports.lmtp, { to: 'anna@example.org', message: MESSAGE }),
    /^452/
  )
})
