import { before, test } from 'node:test'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../helpers/corpus.js'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient } from '../helpers/wire-client.js'

const skip = corpusIsMissing

/** Commands on their way at once: a client that pipelines without mercy, but reads as well. */
const PIPELINE = 20

/** @param {Buffer} bytes */
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

/**
 * @param {Buffer} bytes - of a message
 * @returns {string} the hash of what BODY[] shows of it: 0x80 for NUL
 */
const shownHash = (bytes) =>
  sha256(bytes.includes(0) ? Buffer.from(bytes.map((byte) => (byte === 0 ? 0x80 : byte))) : bytes)

/** @type {{ name: string, bytes: Buffer }[]} */
let messages = []
before(() => {
  if (!skip)
    messages = [...everydayMessages(), ...tortureMessages()].filter(({ bytes }) => bytes.length > 0)
})

/**
 * Reads every message of a mailbox, in the order of UIDs.
 *
 * @param {number} port
 * @param {string} user
 * @param {(bytes: Buffer) => void} each
 * @returns {Promise<number>} how many
 */
async function readAll(port, user, each) {
  const client = await WireClient.connect(port)
  await client.login(user)
  let total = Number(/\* (\d+) EXISTS/.exec(await client.command('SELECT INBOX'))?.[1])
  // What waited in the spool comes in while the user is already there.
  while (total < messages.length) {
    // More may have come while it was told of some: the last number counts.
    const told = (await client.command('NOOP')).match(/\d+(?= EXISTS)/g)
    total = Number(told?.at(-1) ?? total)
    await sleep(50)
  }
  for (let from = 1; from <= total; from += 100) {
    client.send(`f UID FETCH ${from}:${from + 99} BODY.PEEK[]\r\n`)
    for (;;) {
      const line = await client.line()
      if (line.startsWith('f ')) {
        assert.match(line, /^f OK/)
        break
      }
      const size = Number(/\{(\d+)\}\r\n$/.exec(line)?.[1])
      assert.ok(Number.isInteger(size), line)
      each(await client.take(size))
      assert.equal(await client.line(), ')\r\n')
    }
  }
  client.destroy()
  return total
}

test('the whole corpus comes back byte for byte after APPEND', { skip }, async (t) => {
  const data = join(scratchFolder(t, 'corpus'), 'data')
  await createAccounts(data, ['u@example.org'])
  const server = await startServerProcess(t, { data })
  const client = await WireClient.connect(server.ports.imap)
  await client.login('u@example.org')
  for (let from = 0; from < messages.length; from += PIPELINE) {
    const batch = messages.slice(from, from + PIPELINE)
    await Promise.all(
      batch.map(async ({ name, bytes }) => {
        const answer = await client.command('APPEND INBOX', bytes)
        assert.match(answer, /OK \[APPENDUID/, name)
      })
    )
  }
  client.destroy()
  let index = 0
  const total = await readAll(server.ports.imap, 'u@example.org', (bytes) => {
    const expected = messages[index++]
    assert.ok(expected)
    assert.equal(sha256(bytes), shownHash(expected.bytes), expected.name)
  })
  assert.equal(total, messages.length)
  assert.equal(await server.stop(), 0)
})

test(
  'the whole corpus comes back byte for byte after LMTP to a locked account',
  { skip },
  async (t) => {
    const data = join(scratchFolder(t, 'corpus'), 'data')
    await createAccounts(data, ['u@example.org'])
    const server = await startServerProcess(t, { data })
    const mta = await WireClient.connect(server.ports.lmtp)
    mta.send('LHLO mta.example\r\n')
    await mta.until(/^250 .*\r\n/m)
    for (const { name, bytes } of messages) {
      mta.send('MAIL FROM:<sender@example.net>\r\nRCPT TO:<u@example.org>\r\nDATA\r\n')
      await mta.until(/^354 .*\r\n/m)
      const text = bytes.toString('latin1')
      // SMTP ends a message at a line end: where the message has none, the last one is the protocol's.
      const whole = text.endsWith('\r\n') ? text : `${text}\r\n`
      mta.send(Buffer.from(whole.replace(/(^|\n)\./g, '$1..'), 'latin1'))
      mta.send('.\r\n')
      assert.match(await mta.until(/^\d{3} .*\r\n/m), /^250 /, name)
    }
    mta.destroy()
    /** @type {Map<string, number>} by hash, because a spool has no order */
    const expected = new Map()
    for (const { bytes } of messages) {
      const whole = bytes.subarray(-2).equals(Buffer.from('\r\n'))
        ? bytes
        : Buffer.concat([bytes, Buffer.from('\r\n')])
      const hash = shownHash(whole)
      expected.set(hash, (expected.get(hash) ?? 0) + 1)
    }
    const total = await readAll(server.ports.imap, 'u@example.org', (bytes) => {
      const head =
        /^Return-Path: <sender@example\.net>\r\nDelivered-To: u@example\.org\r\nReceived: [^;]*;\r\n\t[^\r]*\r\n/
      const trace = head.exec(bytes.subarray(0, 2000).toString('latin1'))?.[0]
      assert.ok(trace, bytes.subarray(0, 300).toString('latin1'))
      const hash = sha256(bytes.subarray(trace.length))
      const left = expected.get(hash)
      assert.ok(
        left,
        `a message came back that was not sent: ${bytes.toString('latin1', trace.length, trace.length + 300)}`
      )
      if (left === 1) expected.delete(hash)
      else expected.set(hash, left - 1)
    })
    assert.equal(total, messages.length)
    assert.equal(expected.size, 0)
    assert.equal(await server.stop(), 0)
  }
)

test('the whole corpus comes back byte for byte after import', { skip }, async (t) => {
  const folder = scratchFolder(t, 'corpus')
  const data = join(folder, 'data')
  const source = join(folder, 'source')
  mkdirSync(source)
  await createAccounts(data, ['u@example.org'])
  messages.forEach(({ bytes }, index) => {
    writeFileSync(join(source, `${String(index).padStart(5, '0')}.eml`), bytes)
  })
  const args = [
    'import',
    '--data',
    data,
    '--account',
    'u@example.org',
    '--mailbox',
    'INBOX',
    '--as-is'
  ]
  const first = await letterlock([...args, '--password-stdin', source], { input: 'pass\n' })
  assert.equal(first.code, 0, first.stderr + first.stdout)
  const again = await letterlock([...args, '--password-stdin', source], { input: 'pass\n' })
  assert.equal(again.code, 0, again.stderr + again.stdout)

  const server = await startServerProcess(t, { data })
  const expected = new Set(messages.map(({ bytes }) => shownHash(bytes)))
  const total = await readAll(server.ports.imap, 'u@example.org', (bytes) => {
    assert.ok(expected.has(sha256(bytes)), bytes.subarray(0, 300).toString('latin1'))
  })
  assert.equal(total, messages.length)
  assert.equal(await server.stop(), 0)
  const check = await letterlock(['check', '--data', data, 'u@example.org', '--password-stdin'], {
    input: 'pass\n'
  })
  assert.equal(check.code, 0, check.stdout + check.stderr)
})
