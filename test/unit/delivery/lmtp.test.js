import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createLogger } from '../../../src/telemetry/logger.js'
import { LmtpClient, openSpool, splitTrace, stuffed } from '../../helpers/delivery.js'
import { WireClient } from '../../helpers/wire-client.js'
import { ANN, MESSAGE, startLmtp } from '../../helpers/lmtp.js'

test('LHLO offers PIPELINING, SIZE, 8BITMIME, SMTPUTF8 and ENHANCEDSTATUSCODES, and no more', async (t) => {
  const { port } = await startLmtp(t)
  const wire = await WireClient.connect(port)
  wire.send('LHLO mta.example\r\n')
  const [, ...features] = (await wire.until(/250 .*\r\n/)).trimEnd().split('\r\n')
  assert.deepEqual(features.map((line) => line.slice(4)).sort(), [
    '8BITMIME',
    'ENHANCEDSTATUSCODES',
    'PIPELINING',
    'SIZE 1044480',
    'SMTPUTF8'
  ])
  wire.destroy()
})

test('HELO, EHLO and commands of other trades are refused, and the session goes on', async (t) => {
  const { port } = await startLmtp(t)
  const client = await LmtpClient.connect(port)
  for (const line of [
    'EHLO x',
    'HELO x',
    'AUTH PLAIN AGEAYg==',
    'STARTTLS',
    'WIZ x',
    'XCLIENT ADDR=1.1.1.1'
  ]) {
    assert.match(await client.say(line), /^5\d\d /, line)
  }
  assert.match(await client.say('VRFY ann'), /^252 2\.1\.5 /)
  assert.match(await client.say('NOOP'), /^250 /)
  await client.quit()
})

test('a message that got 250 lies in the spool, opens, and is what was sent', async (t) => {
  const { port, spoolFolder, identity, notified, account } = await startLmtp(t)
  const before = Date.now()
  const client = await LmtpClient.connect(port)
  const replies = await client.deliver({ to: [ANN], message: MESSAGE })
  assert.deepEqual(replies, ['250 2.0.0 Sealed and stored'])
  const [mail] = await openSpool(spoolFolder, identity)
  assert.ok(mail)
  const { headers, body } = splitTrace(mail.message)
  assert.equal(body.toString(), MESSAGE)
  assert.match(
    headers,
    /^Return-Path: <sender@example\.net>\r\nDelivered-To: ann@example\.org\r\nReceived: from mta\.example \(\[127\.0\.0\.1\]\)\r\n\tby mail\.example\.org with LMTP id \S+;\r\n\t\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\r\n$/
  )
  assert.equal(mail.envelope.recipient, ANN)
  assert.equal(mail.envelope.sender, 'sender@example.net')
  assert.ok(mail.envelope.receivedAtMs >= before)
  assert.deepEqual(notified, [account.id])
  await client.quit()
})

test('while there is no account at all an unknown recipient is refused for now, afterwards for good', async (t) => {
  const { port, directory, account, add } = await startLmtp(t)
  await directory.deleteAccount(account.id)
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<sender@example.net>')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^451 4\.3\.0 No mailbox here yet/)
  await add('bob@example.org')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^550 5\.1\.1 /)
  assert.match(await client.say('RCPT TO:<bob@example.org>'), /^250 /)
  await client.quit()
})

test('each accepted recipient gets its reply, in order, and its own file', async (t) => {
  const { port, add, spoolFolder, identity } = await startLmtp(t)
  const bob = await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  assert.match(await client.say('RCPT TO:<bob@example.org>'), /^250 2\.1\.5 /)
  assert.match(await client.say('RCPT TO:<nobody@example.org>'), /^550 5\.1\.1 /)
  assert.match(await client.say('RCPT TO:<ann@other.example>'), /^550 5\.1\.1 /)
  assert.match(await client.say('RCPT TO:<ANN+lists@Example.ORG>'), /^250 /)
  assert.match(await client.say('DATA'), /^354 /)
  client.wire.send(stuffed(MESSAGE))
  assert.match(await client.reply(), /^250 /)
  assert.match(await client.reply(), /^250 /)
  assert.match(await client.say('NOOP'), /^250 /)
  const [toAnn] = await openSpool(spoolFolder, identity)
  const [toBob] = await openSpool(bob.spoolFolder, bob.identity)
  assert.match(
    String(toAnn?.message),
    /^Return-Path: <>\r\nDelivered-To: ANN\+lists@example\.org\r\n/i
  )
  assert.match(String(toBob?.message), /^Return-Path: <>\r\nDelivered-To: bob@example\.org\r\n/)
  // The id of the transaction is of random letters.
  const told = String(toBob?.message).replace(/ id \S+;\r\n/, '')
  assert.notEqual(told, String(toBob?.message))
  assert.ok(!told.toLowerCase().includes('ann'))
  await client.quit()
})

test('an address that was accepted twice gets the message once and the reply twice (RFC 2033 §4.2)', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t)
  const client = await LmtpClient.connect(port)
  const replies = await client.deliver({ to: [ANN, ANN, 'ann+b@example.org'], message: MESSAGE })
  assert.equal(replies.length, 3)
  assert.ok(replies.every((reply) => reply.startsWith('250 ')))
  assert.match(await client.say('NOOP'), /^250 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 2)
  await client.quit()
})

test('a transaction that was reset leaves no recipient behind', async (t) => {
  const { port, add, spoolFolder, identity } = await startLmtp(t)
  const bob = await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  await client.say(`RCPT TO:<${ANN}>`)
  await client.say('RSET')
  assert.match(await client.say('DATA'), /^503 /)
  assert.equal((await client.deliver({ to: ['bob@example.org'], message: MESSAGE })).length, 1)
  await client.say('LHLO again.example')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^503 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 0)
  assert.equal((await openSpool(bob.spoolFolder, bob.identity)).length, 1)
  await client.quit()
})

test('a disabled account answers 550 5.2.1', async (t) => {
  const { port, directory, account } = await startLmtp(t)
  await directory.updateAccount(account.id, { isEnabled: false })
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^550 5\.2\.1 /)
  await client.quit()
})

test('two pipelined transactions in one packet are answered in order', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t)
  const wire = await WireClient.connect(port)
  const one = `MAIL FROM:<a@b.example>\r\nRCPT TO:<${ANN}>\r\nRCPT TO:<no@example.org>\r\nDATA\r\n`
  wire.send(
    Buffer.concat(
      ['LHLO x\r\n', one, stuffed(MESSAGE), one, stuffed(MESSAGE), 'QUIT\r\n'].map((part) =>
        Buffer.from(part)
      )
    )
  )
  const text = await wire.until(/^221 .*\r\n/m)
  const codes = [...text.matchAll(/^(\d{3}) /gm)].map((match) => match[1])
  const transaction = ['250', '250', '550', '354', '250']
  assert.deepEqual(codes, ['250', ...transaction, ...transaction, '221'])
  assert.equal((await openSpool(spoolFolder, identity)).length, 2)
})

test('a dialogue that comes byte by byte is the same dialogue', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t)
  const message = '.\r\n..two\r\n.\r\n\r\n.x\r\n'
  const wire = await WireClient.connect(port)
  wire.socket.setNoDelay(true)
  const bytes = Buffer.concat([
    Buffer.from(`LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<${ANN}>\r\nDATA\r\n`),
    stuffed(message),
    Buffer.from('QUIT\r\n')
  ])
  for (const byte of bytes) {
    wire.send(Buffer.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await wire.until(/^221 .*\r\n/m)
  const [mail] = await openSpool(spoolFolder, identity)
  assert.equal(splitTrace(mail?.message ?? Buffer.alloc(0)).body.toString(), message)
})

test('messages of every kind of byte come out as they went in', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t)
  const kinds = {
    nothing: Buffer.alloc(0),
    '8-bit': Buffer.from(`Subject: x\r\n\r\n${'äöü\u{1f600}'.repeat(2000)}\r\n`),
    NUL: Buffer.from('a\r\n\r\nb\0c\r\n'),
    'bare LF and CR': Buffer.from('a: b\n\nc\rd\n\re\r\n'),
    'long lines': Buffer.from(`${'x'.repeat(200_000)}\r\n`),
    dots: Buffer.from('.\r\n..\r\n...\r\n. \r\n.a\r\n'.repeat(300)),
    'a whole stuffed file of dots': Buffer.from('.\r\n'.repeat(5000))
  }
  const client = await LmtpClient.connect(port)
  for (const message of Object.values(kinds)) {
    assert.match(String(await client.deliver({ to: [ANN], message })), /^250 /)
  }
  const mails = await openSpool(spoolFolder, identity)
  Object.entries(kinds).forEach(([kind, message], i) => {
    const { body } = splitTrace(mails[i]?.message ?? Buffer.from('missing'))
    assert.ok(body.equals(message), kind)
  })
  await client.quit()
})

test('a lone dot between bare LFs does not end a message', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t)
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  await client.say(`RCPT TO:<${ANN}>`)
  await client.say('DATA')
  const smuggled = 'x\n.\nMAIL FROM:<evil@example.net>\r\n\n.\r\ny\r\n'
  client.wire.send(`${smuggled}.\r\n`)
  assert.match(await client.reply(), /^250 /)
  const [mail] = await openSpool(spoolFolder, identity)
  assert.equal(splitTrace(mail?.message ?? Buffer.alloc(0)).body.toString(), smuggled)
  await client.quit()
})

test('addresses in UTF-8 are taken with SMTPUTF8 and stand so in the header', async (t) => {
  const { port, add } = await startLmtp(t)
  const jorg = await add('jörg@example.org')
  const client = await LmtpClient.connect(port)
  assert.match(await client.say('MAIL FROM:<änne@exämple.net> BODY=8BITMIME SMTPUTF8'), /^250 /)
  assert.match(await client.say('RCPT TO:<jörg@example.org>'), /^250 /)
  await client.say('DATA')
  client.wire.send(stuffed(MESSAGE))
  assert.match(await client.reply(), /^250 /)
  const [mail] = await openSpool(jorg.spoolFolder, jorg.identity)
  assert.match(
    String(mail?.message),
    /^Return-Path: <änne@exämple\.net>\r\nDelivered-To: jörg@example\.org\r\nReceived: .*\r\n\tby \S+ with UTF8LMTP id/
  )
  await client.quit()
})

test('mail of senders whose addresses need quotes, or have dots where none should be, is taken', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t)
  const senders = [
    '"foo..bar"@docomo.example',
    'foo..bar@docomo.example',
    'foo.@docomo.example',
    '"john doe"@example.net',
    '"a@b"@example.net',
    '"a\\"b\\\\"@example.net',
    '"<x>: y,z"@[192.0.2.1]'
  ]
  const client = await LmtpClient.connect(port)
  for (const from of senders)
    assert.match(String(await client.deliver({ from, to: [ANN], message: MESSAGE })), /^250 /, from)
  const paths = (await openSpool(spoolFolder, identity)).map(({ envelope, message }) => [
    envelope.sender,
    /^Return-Path: <(.*)>\r\n/.exec(message.toString())?.[1]
  ])
  assert.deepEqual(
    paths,
    senders.map((from) => [from, from])
  )
  assert.match(await client.say('MAIL FROM:<"size"@example.net> SIZE=1000000000'), /^552 /)
  assert.match(await client.say('MAIL FROM:<@relay.example:"a b"@example.net>'), /^250 /)
  await client.say('RSET')
  assert.match(await client.say('MAIL FROM:<a@example.net> X="y"@z>'), /^250 /)
  await client.say('RSET')
  for (const from of ['"a\rb"@example.net', '"a\\\rb"@example.net', '"a b"', '"a b@c"'])
    assert.match(await client.say(`MAIL FROM:<${from}>`), /^501 5\.1\.7 /, JSON.stringify(from))
  assert.match(await client.say(`MAIL FROM:<"${'x'.repeat(2000)}"@example.net>`), /^50[01] /)
  assert.match(await client.say('MAIL FROM:<>'), /^250 /)
  assert.match(await client.say('RCPT TO:<"ann smith"@example.org>'), /^550 5\.1\.1 /)
  assert.match(await client.say('RCPT TO:<"ann"@example.org>'), /^250 /)
  await client.quit()
})

test('no word of a message, no address and no name of a client is on disk or in the log', async (t) => {
  const stream = new PassThrough()
  /** @type {Buffer[]} */
  const lines = []
  stream.on('data', (line) => lines.push(line))
  const { folder, port, close, add } = await startLmtp(t, {
    logger: createLogger({ level: 'trace', stream })
  })
  await add('bob@example.org', { quotaBytes: 1 })
  const client = await LmtpClient.connect(port)
  const message = `Subject: quincemarker\r\n\r\n${'medlarmarker\r\n'.repeat(20_000)}`
  const from = 'sorbmarker@example.net'
  const to = ['ann+slomarker@example.org', 'bob@example.org', 'haw-marker@example.org']
  assert.match(String(await client.deliver({ from, to, message })), /^250 /)
  await client.quit()
  await close()
  const log = Buffer.concat(lines).toString()
  assert.match(log, /mail sealed/)
  for (const word of ['marker', 'example.org', 'example.net', 'mta.example']) {
    assert.ok(!log.includes(word), word)
  }
  const grep = spawnSync('grep', ['-rlai', 'marker', folder])
  assert.equal(grep.stdout.toString(), '')
  assert.equal(grep.status, 1)
})

test('mail for a hundred recipients is read once and sealed a hundred times', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t)
  const client = await LmtpClient.connect(port)
  const to = Array.from({ length: 100 }, (_, i) => `ann+${i}@example.org`)
  const replies = await client.deliver({ to, message: MESSAGE })
  assert.equal(replies.length, 100)
  assert.ok(replies.every((reply) => reply.startsWith('250 ')))
  const mails = await openSpool(spoolFolder, identity)
  assert.deepEqual(
    mails.map((mail) => mail.envelope.recipient),
    to
  )
  await client.quit()
})
