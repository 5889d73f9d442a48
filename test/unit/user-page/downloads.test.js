/**
 * The files of downloads: they leave room to the mail, and are gone with whoever takes them.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  mkdirSync,
  readdirSync,
  rmSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { request } from 'node:https'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDescriptors } from '../../helpers/open-descriptors.js'
import { PASSWORD } from '../../helpers/server.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'
import { startUserPage } from '../../helpers/user-page.js'

const ALICE = 'alice@example.org'
/** Of the disk that downloads are to leave room on. */
const DISK_BYTES = 16 * 1024 * 1024
/** Together more than the system takes off a server's hands for a client that reads nothing. */
const MESSAGES = 5
const MESSAGE_BYTES = 4_000_000

/** @returns {number} downloads whose file this process has open */
const countOpen = () => openDescriptors().filter((path) => path.includes('/.download-')).length

test('who takes nothing of a download is cut off after a minute, and the file is gone from the disk', async (t) => {
  const server = await startUserPage(t)
  const imap = await server.connectImap()
  await imap.login('alice', `"${PASSWORD}"`)
  const head = 'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  const message = Buffer.from(head + randomBytes(MESSAGE_BYTES).toString('base64'))
  for (let nth = 0; nth < MESSAGES; nth++) {
    assert.match(await imap.command('APPEND INBOX', message), / OK /)
  }
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  // The minute is over at once.
  const { setTimeout } = Socket.prototype
  /** @type {(this: Socket, ms: number, then?: () => void) => Socket} */
  const hurried = function (ms, then) {
    return setTimeout.call(this, ms === 60_000 ? 50 : ms, then)
  }
  const hurry = t.mock.method(Socket.prototype, 'setTimeout', hurried)
  const asked = request({
    host: '127.0.0.1',
    port: server.pagePort,
    method: 'POST',
    path: '/download',
    headers: {
      origin: browser.origin,
      cookie: `__Host-letterlock=${browser.cookie}`,
      'content-type': 'application/x-www-form-urlencoded'
    },
    rejectUnauthorized: false,
    agent: false
  })
  t.after(() => asked.destroy())
  asked.end(new URLSearchParams({ token: browser.token, password: PASSWORD }).toString())
  const [answer] = await once(asked, 'response')
  assert.equal(answer.statusCode, 200)
  // Waited for from here: a client that has not stopped reading yet hears of the end while the file is still open.
  const cutOff = assert.rejects(once(answer, 'end'), { code: 'ECONNRESET' })
  assert.ok(countOpen() > 0)
  // Nothing of it is read.
  while (countOpen() > 0) await sleep(10)
  answer.resume()
  await cutOff
  // Who takes it may need longer for a part than that minute lasted here.
  hurry.mock.restore()
  assert.equal((await browser.post('/download', { password: PASSWORD })).status, 200)
})

test(
  'a download leaves room to the mail: where it would not, it is refused before anything is written',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, DISK_BYTES)
    const server = await startUserPage(t)
    const tmp = join(server.data, 'tmp')
    rmSync(tmp, { recursive: true })
    symlinkSync(disk.root, tmp)
    const imap = await server.connectImap()
    await imap.login('alice', `"${PASSWORD}"`)
    const head =
      'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'
    const body = randomBytes(3_000_000).toString('base64').replace(/.{76}/g, '$&\r\n')
    await imap.command('APPEND INBOX', Buffer.from(head + body))
    const browser = server.browser()
    await browser.logIn(ALICE, PASSWORD)
    const download = async () => {
      const { bavail } = statfsSync(disk.root)
      const { status, text, bytes } = await browser.post('/download', { password: PASSWORD })
      // The server learns a moment later that all has been sent, and only then gives its room back.
      while (statfsSync(disk.root).bavail < bavail) await sleep(1)
      return { answer: [status, /no room for that/.test(text)], size: bytes.length }
    }
    const { size } = await download()
    // Enough for it, but of the twentieth only a part would be left.
    disk.fill(size + 512 * 1024)
    assert.deepEqual((await download()).answer, [503, true])
    assert.deepEqual(readdirSync(tmp), ['ballast'])
    disk.fill(size + 1024 * 1024)
    assert.deepEqual((await download()).answer, [200, false])
    disk.clear()

    // One that has ended takes nothing any more.
    mkdirSync(join(tmp, `.download-4194304-${DISK_BYTES}-aa`))
    assert.deepEqual((await download()).answer, [200, false])
    // The download of another process is to take the whole disk; it has begun, and is through with it.
    const other = join(tmp, `.download-1-${DISK_BYTES}-aa`)
    mkdirSync(other)
    assert.deepEqual((await download()).answer, [503, true])
    writeFileSync(join(other, 'mail.db'), '')
    assert.deepEqual((await download()).answer, [503, true])
    truncateSync(join(other, 'mail.db'), DISK_BYTES)
    assert.deepEqual((await download()).answer, [200, false])
    // One that becomes larger than it said gives nobody room.
    truncateSync(join(other, 'mail.db'), 2 * DISK_BYTES)
    disk.fill(size + 512 * 1024)
    assert.deepEqual((await download()).answer, [503, true])
  }
)

test('a browser that goes while its download is made leaves nothing behind, and nothing to look into', async (t) => {
  const server = await startUserPage(t)
  const tmp = join(server.data, 'tmp')
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const gone = new AbortController()
  browser.options = { signal: gone.signal }
  const asked = browser.post('/download', { password: PASSWORD })
  while (readdirSync(tmp).length === 0) await sleep(1)
  gone.abort()
  await assert.rejects(asked)
  browser.options = {}
  let status = 503
  for (; status === 503; await sleep(20)) {
    status = (await browser.post('/download', { password: PASSWORD })).status
  }
  assert.equal(status, 200)
  assert.deepEqual(readdirSync(tmp), [])
  assert.deepEqual(
    server.logged.filter((/** @type {any} */ { level }) => level === 'error'),
    []
  )
})

test('what a killed process has left of a download is removed at the start', async (t) => {
  const server = await startUserPage(t)
  const tmp = join(server.data, 'tmp')
  // No process has the largest number that Linux gives.
  writeFileSync(join(tmp, 'download-4194304-aa'), 'x')
  mkdirSync(join(tmp, '.download-4194304-aa-Xy12'))
  // In a container each start has the same number.
  mkdirSync(join(tmp, `.download-${process.pid}-4096-aa`))
  writeFileSync(join(tmp, 'download-1-aa'), 'of a process that is alive')
  writeFileSync(join(tmp, 'etilqs_1'), 'not ours')
  await server.page.close({ graceMs: 0 })
  await server.page.listen({ host: '127.0.0.1', port: 0 })
  assert.deepEqual(readdirSync(tmp).sort(), ['download-1-aa', 'etilqs_1'])
})
