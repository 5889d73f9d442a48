import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient } from '../helpers/wire-client.js'

const PAGE_BYTES = 4096
const MESSAGES = 40

/**
 * @param {string} path
 * @param {number} offset - bytes
 */
function flipByte(path, offset) {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, offset)
  byte[0] = (byte[0] ?? 0) ^ 0xff
  writeSync(file, byte, 0, 1, offset)
  closeSync(file)
}

test('a damaged mailbox answers [CORRUPTION] for what is lost and gives the rest; others notice nothing', async (t) => {
  const data = join(scratchFolder(t, 'damage'), 'data')
  await createAccounts(data, ['hurt@example.org', 'well@example.org'])
  const first = await startServerProcess(t, { data })
  for (const user of ['hurt@example.org', 'well@example.org']) {
    const client = await WireClient.connect(first.ports.imap)
    await client.login(user)
    for (let i = 0; i < MESSAGES; i++) {
      // Noise does not shrink: the bodies fill most pages of the file.
      const noise = Buffer.from(randomBytes(30_000).toString('base64'))
      await client.command(
        'APPEND INBOX',
        Buffer.concat([Buffer.from(`Subject: ${i}\r\n\r\n`), noise])
      )
    }
    client.destroy()
  }
  await first.stop()
  const shown = await letterlock(['account', 'show', 'hurt@example.org', '--data', data, '--json'])
  const { folder } = JSON.parse(shown.stdout)
  const mailbox = join(folder, readdirSync(folder).find((name) => name === 'mail.db') ?? '')
  // A page in the middle: with most of the file in bodies, it is one of a body.
  flipByte(mailbox, PAGE_BYTES * 100 + 1000)

  const server = await startServerProcess(t, { data })
  const hurt = await WireClient.connect(server.ports.imap)
  const well = await WireClient.connect(server.ports.imap)
  await hurt.login('hurt@example.org')
  await well.login('well@example.org')
  await hurt.command('SELECT INBOX')
  await well.command('SELECT INBOX')
  let lost = 0
  for (let i = 1; i <= MESSAGES; i++) {
    const answer = await hurt.command(`FETCH ${i} BODY.PEEK[]`)
    if (/^w\d+ NO \[CORRUPTION\]/m.test(answer)) lost++
    else assert.match(answer, /w\d+ OK/)
    assert.match(await well.command(`FETCH ${i} BODY.PEEK[]`), /w\d+ OK/)
  }
  assert.ok(lost >= 1 && lost < MESSAGES, `${lost} of ${MESSAGES} messages were lost`)
  assert.match(await hurt.command('NOOP'), /OK/)
  hurt.destroy()
  well.destroy()
  assert.match(server.output(), /"code":"ACCOUNT_DAMAGED"/)
  assert.equal(await server.stop(), 0)

  const check = (/** @type {string} */ user) =>
    letterlock(['check', user, '--data', data, '--password-stdin'], { input: 'pass\n' })
  assert.equal((await check('hurt@example.org')).code, 1)
  assert.equal((await check('well@example.org')).code, 0)
})
