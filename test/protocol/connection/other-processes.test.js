import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SMALL_MESSAGE } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient } from '../../helpers/transcript.js'

const APPEND = `APPEND INBOX {${SMALL_MESSAGE.length}+}\r\n${SMALL_MESSAGE}`

test('what another server writes to the same mailbox is told before the next command', async (t) => {
  const server = await startImapServer(t)
  const sibling = await server.startSibling()
  const here = await LineClient.connect(server)
  await here.login()
  await here.command('SELECT INBOX')
  const there = await LineClient.connect(sibling)
  await there.login()
  await there.command(APPEND)
  assert.ok((await here.command('NOOP')).includes('* 1 EXISTS'))
  await there.command('SELECT INBOX')
  await there.command('STORE 1 +FLAGS.SILENT (\\Flagged \\Deleted $Word)')
  const lines = await here.command('NOOP')
  assert.ok(
    lines.some((line) => /^\* 1 FETCH \(FLAGS \(\\Flagged \\Deleted \$Word/.test(line)),
    lines.join('\n')
  )
  await there.command('EXPUNGE')
  assert.ok((await here.command('NOOP')).includes('* 1 EXPUNGE'))
  here.close()
  there.close()
})

for (const command of ['EXPUNGE', 'UID EXPUNGE 1:*', 'CLOSE'])
  test(`${command} takes what another server has just marked`, async (t) => {
    const server = await startImapServer(t)
    const sibling = await server.startSibling()
    const [here, there] = [await LineClient.connect(server), await LineClient.connect(sibling)]
    for (const client of [here, there]) await client.login()
    for (let count = 0; count < 2; count++) await there.command(APPEND)
    for (const client of [here, there]) await client.command('SELECT INBOX')
    await there.command('STORE 2 +FLAGS.SILENT (\\Deleted)')
    await here.command(command)
    const lines = await there.command('NOOP')
    assert.ok(lines.includes('* 2 EXPUNGE'), lines.join('\n'))
    here.close()
    there.close()
  })

test('and in the end to a client that never asks for news', async (t) => {
  const server = await startImapServer(t)
  const sibling = await server.startSibling()
  const here = await LineClient.connect(server)
  await here.login()
  await here.command(APPEND)
  await here.command('SELECT INBOX')
  const there = await LineClient.connect(sibling)
  await there.login()
  await there.command(APPEND)
  await there.command('SELECT INBOX')
  await there.command('STORE 1 +FLAGS.SILENT ($Word)')
  /** @type {string[]} */
  const told = []
  const isTold = () =>
    told.includes('* 2 EXISTS') && told.some((line) => /^\* 1 FETCH .*\$Word/.test(line))
  // Far more than half a second of them: it fails instead of going on for ever.
  for (let n = 0; n < 20_000 && !isTold(); n++)
    told.push(...(await here.command('STORE 1 +FLAGS.SILENT (\\Seen)')))
  assert.ok(isTold(), [...new Set(told)].join('\n'))
  // What the other one has written stays.
  await there.command('NOOP')
  assert.ok((await there.command('FETCH 1 FLAGS')).includes('* 1 FETCH (FLAGS (\\Seen $Word))'))
  here.close()
  there.close()
})

test('and in IDLE without any command', async (t) => {
  const server = await startImapServer(t)
  const sibling = await server.startSibling()
  const here = await LineClient.connect(server)
  await here.login()
  await here.command('SELECT INBOX')
  here.send('i IDLE\r\n')
  await here.line()
  const there = await LineClient.connect(sibling)
  await there.login()
  await there.command(APPEND)
  assert.equal(await here.line(), '* 1 EXISTS')
  assert.equal(await here.line(), '* 1 RECENT')
  here.close()
  there.close()
})

test('two servers never give one UID twice', async (t) => {
  const server = await startImapServer(t)
  const sibling = await server.startSibling()
  const clients = []
  for (const where of [server, sibling, server, sibling]) {
    const client = await LineClient.connect(where)
    await client.login()
    clients.push(client)
  }
  const uids = (
    await Promise.all(
      clients.map(async (client) => {
        const own = []
        for (let count = 0; count < 25; count++) {
          const last = (await client.command(APPEND)).at(-1) ?? ''
          own.push(Number(/APPENDUID \d+ (\d+)/.exec(last)?.[1]))
        }
        return own
      })
    )
  ).flat()
  assert.deepEqual(
    uids.sort((a, b) => a - b),
    Array.from({ length: 100 }, (_, index) => index + 1)
  )
  for (const client of clients) client.close()
})
