/**
 * The page for users over several workers: whichever of them a request reaches, it is the same page.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { PageClient } from '../helpers/page-client.js'
import { createAccounts, ENVIRONMENT, MAIN, scratchFolder } from '../helpers/process.js'
import { deliver, WireClient } from '../helpers/wire-client.js'

const ALICE = 'alice@example.org'

test('sessions of the page and of IMAP are those of all workers; the download opens with letterlock open', async (t) => {
  const folder = scratchFolder(t, 'user-page')
  const data = join(folder, 'data')
  mkdirSync(data)
  await createAccounts(data, [ALICE], 'old secret')
  const args = ['--allow-plaintext-loopback', '--user-page', '127.0.0.1:0']
  const cluster = await startCluster({ data, workers: 3, args })
  t.after(() => cluster.stop())
  const { ports } = cluster
  const message = 'Subject: waits in the spool\r\n\r\nbody\r\n'
  assert.match(await deliver(ports.lmtp, { to: ALICE, message }), /^250 /)

  const browser = new PageClient(ports.userPage)
  assert.equal((await browser.logIn(ALICE, 'old secret')).status, 303)
  for (let nth = 0; nth < 9; nth++) assert.equal((await browser.get('/')).status, 200, `${nth}`)

  const { bytes, status } = await browser.post('/download', { password: 'old secret' })
  assert.equal(status, 200)
  const file = join(folder, 'alice.letterlock')
  writeFileSync(file, bytes)
  assert.equal(await countInbox(t, file, 'old secret'), 1)
  assert.deepEqual(
    readdirSync(join(data, 'tmp')).filter((name) => name.includes('download')),
    []
  )

  const clients = []
  for (let nth = 0; nth < 6; nth++) {
    const client = await WireClient.connect(ports.imaps, { isTls: true })
    t.after(() => client.destroy())
    await client.command(`ID ("name" "client${nth}")`)
    await client.login(ALICE, '"old secret"')
    clients.push(client)
  }
  const { text } = await browser.get('/sessions')
  const names = text.match(/<th scope="row">client\d/g)?.map((name) => name.at(-1))
  assert.deepEqual(names?.sort(), ['0', '1', '2', '3', '4', '5'])
  const ids = [...text.matchAll(/name="id" value="([^"]+)"/g)].map(([, id]) => id ?? '')
  assert.equal(ids.length, 6)
  for (const id of ids) assert.equal((await browser.post('/sessions/end', { id })).status, 303)
  for (const client of clients) await client.until(/\* BYE [^\r]*owner of the mailbox/)

  const other = new PageClient(ports.userPage)
  await other.logIn(ALICE, 'old secret')
  const fields = { password: 'old secret', new: 'new secret', again: 'new secret' }
  assert.equal((await browser.post('/password', fields)).status, 303)
  for (let nth = 0; nth < 3; nth++) {
    assert.equal((await browser.get('/')).status, 200)
    assert.equal((await other.get('/')).status, 303)
  }
  const again = await WireClient.connect(ports.imap)
  t.after(() => again.destroy())
  assert.match(await again.command(`LOGIN ${ALICE} "old secret"`), / NO /)
  await again.login(ALICE, '"new secret"')

  await browser.get('/')
  const { cookie } = browser
  assert.equal((await browser.post('/logout', {})).status, 303)
  browser.cookie = cookie
  for (let nth = 0; nth < 3; nth++) assert.equal((await browser.get('/')).status, 303)
  const output = cluster.output()
  for (const secret of ['old secret', 'new secret', cookie ?? '', ALICE]) {
    assert.equal(output.includes(secret), false)
  }
  assert.deepEqual(output.match(/.*"level":"error".*/g) ?? [], [])
})

/**
 * @param {import('node:test').TestContext} t
 * @param {string} file
 * @param {string} password
 * @returns {Promise<number>} messages in INBOX, as `letterlock open` shows it to a mail program
 */
async function countInbox(t, file, password) {
  const args = [MAIN, 'open', file, '--password-stdin']
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: ENVIRONMENT
  })
  t.after(() => child.kill('SIGKILL'))
  child.stdin.end(`${password}\n`)
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    if (/^ready$/m.test(text)) break
  }
  const client = await WireClient.connect(Number(/127\.0\.0\.1:(\d+)/.exec(text)?.[1]))
  await client.login('anybody', `"${password}"`)
  const exists = /\* (\d+) EXISTS/.exec(await client.command('SELECT INBOX'))?.[1]
  client.destroy()
  child.kill('SIGINT')
  return Number(exists)
}
