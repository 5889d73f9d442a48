/**
 * Delivery as a process: what a kill leaves, in which order the system calls come, how much memory it takes.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { listSpool } from '../../../src/delivery/spool.js'
import {
  LmtpClient,
  addAccount,
  filesBelow,
  openSpool,
  openSpoolFile,
  openTestDirectory,
  stuffed
} from '../../helpers/delivery.js'
import { scratchFolder } from '../../helpers/process.js'

const CHILD = fileURLToPath(new URL('lmtp-child.js', import.meta.url))
const ROUNDS = process.env.LETTERLOCK_TEST_TORTURE === '1' ? 200 : 10
const ANN = 'ann@example.org'
const hasStrace = spawnSync('strace', ['-V']).status === 0

/**
 * @param {import('node:test').TestContext} t
 */
async function setUp(t) {
  const folder = scratchFolder(t, 'lmtp-process')
  const directory = openTestDirectory(folder)
  const ann = await addAccount(directory, folder, ANN)
  await directory.close()
  return { folder, ...ann }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} folder
 * @param {{ maxBytes?: number, wrapper?: string[] }} [options]
 */
async function startChild(t, folder, { maxBytes = 1_000_000, wrapper = [] } = {}) {
  const [command = '', ...args] = [...wrapper, process.execPath, CHILD, folder, String(maxBytes)]
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const kill = async () => {
    child.kill('SIGKILL')
    await closed
  }
  t.after(kill)
  const [line] = await once(child.stdout, 'data')
  return { child, port: Number(line), kill }
}

/**
 * Delivers one message after the other until the server dies.
 *
 * @param {number} port
 * @param {string} name - of this client
 * @param {Set<string>} acknowledged - gets the ids of the messages that got 250
 */
async function deliverUntilDeath(port, name, acknowledged) {
  try {
    const client = await LmtpClient.connect(port)
    for (let i = 0; ; i++) {
      const id = `${name}.${i}`
      const message = `Message-ID: <${id}@example.net>\r\n\r\n${'x'.repeat(randomInt(150_000))}\r\n`
      const [reply] = await client.deliver({ to: [ANN], message })
      assert.match(String(reply), /^250 /)
      acknowledged.add(id)
    }
  } catch (error) {
    assert.match(String(error), /closed|ECONN|EPIPE/)
  }
}

test(`${ROUNDS} times killed while it delivers, a server has every message that got 250, and each opens`, async (t) => {
  const { folder, spoolFolder, identity } = await setUp(t)
  /** @type {Set<string>} */
  const acknowledged = new Set()
  for (let round = 0; round < ROUNDS; round++) {
    const { child, port, kill } = await startChild(t, folder)
    const clients = [0, 1, 2].map((n) => deliverUntilDeath(port, `${round}.${n}`, acknowledged))
    // However slow the machine is, there is something to lose.
    while (acknowledged.size === 0 && child.exitCode === null) await sleep(5)
    await sleep(150 + randomInt(250))
    await kill()
    await Promise.all(clients)
  }
  const found = new Set()
  for (const { name } of await listSpool(spoolFolder)) {
    const { message } = openSpoolFile(join(spoolFolder, name), identity)
    assert.ok(message.subarray(-3).equals(Buffer.from('x\r\n')) || message.length < 1000)
    found.add(/^Message-ID: <(.*)@example\.net>\r$/m.exec(message.toString('latin1'))?.[1])
  }
  assert.ok(acknowledged.size > 0)
  const lost = [...acknowledged].filter((id) => !found.has(id))
  assert.deepEqual(lost, [])
  t.diagnostic(`${acknowledged.size} acknowledged, ${found.size} in the spool`)
})

/**
 * @param {string} path - of strace's output
 * @returns {{ call: string, start: number, end: number }[]} with the lines where each began and was over
 */
function readTrace(path) {
  const pending = new Map()
  const calls = []
  for (const [number, line] of readFileSync(path, 'latin1').split('\n').entries()) {
    const [, thread, text = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    if (/<unfinished \.\.\.>$/.test(text)) pending.set(thread, { call: text, start: number })
    else if (/^<\.\.\. \w+ resumed>/.test(text)) {
      calls.push({ ...pending.get(thread), end: number })
    } else if (text !== '') calls.push({ call: text, start: number, end: number })
  }
  return calls
}

test(
  'file and folder are synced before 250, and no word of the message is in any write',
  { skip: hasStrace ? false : 'needs strace' },
  async (t) => {
    const { folder, spoolFolder } = await setUp(t)
    const output = join(scratchFolder(t, 'strace'), 'trace')
    const calls =
      'trace=fsync,fdatasync,rename,renameat,renameat2,write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg'
    const wrapper = ['strace', '-f', '-y', '-s', '300000', '-e', calls, '-o', output]
    const { port, child } = await startChild(t, folder, { wrapper })
    const client = await LmtpClient.connect(port)
    const message = `Subject: quincemarker\r\n\r\n${'medlarmarker\r\n'.repeat(10_000)}`
    assert.match(String(await client.deliver({ to: [ANN], message })), /^250 /)
    client.wire.destroy()
    const closed = once(child, 'close')
    // strace keeps signals from itself; the server ends with its input.
    child.stdin.end()
    await closed

    const trace = readTrace(output)
    /** @param {(call: string) => boolean} is */
    const find = (is) => {
      const call = trace.find((each) => is(each.call))
      assert.ok(call, `not in the trace: ${is}`)
      return call
    }
    const [name = ''] = filesBelow(spoolFolder)
    const base = name.slice(spoolFolder.length + 1)
    const written = trace.filter(
      (each) => each.call.startsWith('write') && each.call.includes(`tmp/${base}`)
    )
    const fileSync = find((call) => call.startsWith('fsync') && call.includes(`tmp/${base}`))
    const renamed = find((call) => call.startsWith('rename') && call.includes(base))
    const folderSync = trace.findLast(
      (each) => each.call.startsWith('fsync') && each.call.includes(`<${spoolFolder}>`)
    )
    const reply = find((call) => call.startsWith('write') && call.includes('250 2.0.0 Sealed'))
    assert.ok(written.length > 0 && folderSync)
    for (const write of written) assert.ok(write.end < fileSync.start)
    assert.ok(fileSync.end < renamed.start)
    assert.ok(renamed.end < folderSync.start)
    assert.ok(folderSync.end < reply.start)
    assert.deepEqual(
      trace.filter(({ call }) => call.includes('marker')),
      []
    )
  }
)

/**
 * @param {number} pid
 * @param {'VmRSS' | 'VmHWM'} field
 * @returns {number} MiB
 */
function memory(pid, field) {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024
}

test(
  'a message of 150 MB for three recipients raises the memory by less than 128 MB',
  { skip: process.platform === 'linux' ? false : 'needs /proc' },
  async (t) => {
    const { folder, spoolFolder, identity } = await setUp(t)
    const { port, child } = await startChild(t, folder, { maxBytes: 170_000_000 })
    const client = await LmtpClient.connect(port)
    // The first message pays for code and pools.
    const to = [ANN, 'ann+2@example.org', 'ann+3@example.org']
    assert.equal((await client.deliver({ to, message: 'x\r\n'.repeat(100_000) })).length, 3)
    const before = memory(Number(child.pid), 'VmRSS')
    await client.say('MAIL FROM:<>')
    for (const address of to) await client.say(`RCPT TO:<${address}>`)
    await client.say('DATA')
    const piece = Buffer.alloc(1_000_000, `${'0123456789'.repeat(7)}\r\n`)
    for (let i = 0; i < 150; i++) await client.wire.pour(piece)
    client.wire.send(stuffed('\r\n'))
    for (let i = 0; i < 3; i++) assert.match(await client.reply(), /^250 /)
    const peak = memory(Number(child.pid), 'VmHWM')
    t.diagnostic(`${before.toFixed(0)} MiB before, ${peak.toFixed(0)} MiB at the peak`)
    // Some 35 MiB of it are buffers that V8 has not collected yet, on a busy machine more, however long the message.
    assert.ok(peak - before < 128, `${before} MiB before, ${peak} MiB at the peak`)
    const mails = await openSpool(spoolFolder, identity)
    assert.equal(mails.filter((mail) => mail.message.length > 150_000_000).length, 3)
    client.wire.destroy()
  }
)

test(
  'replies to commands that come together go out together (RFC 2920 §3.2)',
  { skip: process.platform !== 'linux' && 'the writes of a process are counted in /proc' },
  async (t) => {
    const { folder } = await setUp(t)
    const { child, port } = await startChild(t, folder)
    const countWrites = () =>
      Number(/^syscw: (\d+)$/m.exec(readFileSync(`/proc/${child.pid}/io`, 'latin1'))?.[1])
    const client = await LmtpClient.connect(port)
    await client.say('NOOP')
    const before = countWrites()
    const recipients = Array.from({ length: 99 }, (_, n) => `RCPT TO:<nobody${n}@example.org>\r\n`)
    client.wire.send(`MAIL FROM:<>\r\n${recipients.join('')}RSET\r\n`)
    const replies = []
    while (replies.length < 101) replies.push(await client.reply())
    assert.deepEqual(
      replies.map((reply) => reply.slice(0, 3)),
      ['250', ...recipients.map(() => '550'), '250']
    )
    const writes = countWrites() - before
    assert.ok(writes > 0 && writes < 20, `${writes} writes`)
    await client.quit()
  }
)
