import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { once } from 'node:events'
import { createLmtpServer } from '../../../src/delivery/lmtp.js'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { ProxyTrust } from '../../../src/support/proxy-header.js'
import { createLogger } from '../../../src/telemetry/logger.js'
import {
  DELIVERY_CONFIG,
  LmtpClient,
  addAccount,
  filesBelow,
  openSpool,
  openTestDirectory,
  silentLogger,
  splitTrace,
  stuffed
} from '../../helpers/delivery.js'
import { scratchFolder } from '../../helpers/process.js'
import { WireClient } from '../../helpers/wire-client.js'

const MESSAGE = 'From: bob@example.net\r\nSubject: hello\r\n\r\nThe body.\r\n'
const ANN = 'ann@example.org'

/**
 * A server with one account, ann@example.org.
 *
 * @param {import('node:test').TestContext} t
 * @param {object} [options]
 * @param {Partial<typeof DELIVERY_CONFIG.lmtp>} [options.lmtp]
 * @param {number} [options.maxBytes]
 * @param {{ quotaBytes?: number, quotaMessages?: number }} [options.quota]
 * @param {import('../../../src/telemetry/logger.js').Logger} [options.logger]
 * @param {boolean} [options.hasTls]
 * @param {import('../../../src/delivery/lmtp-service.js').LmtpTls} [options.tls]
 * @param {() => boolean} [options.admits]
 * @param {ProxyTrust} [options.proxy]
 * @param {(accountId: string) => void} [options.notify]
 * @param {(account: any) => any} [options.alter] - what the directory says of an account
 */
async function startLmtp(t, options = {}) {
  const { lmtp, maxBytes = DELIVERY_CONFIG.messages.maxBytes, quota, alter } = options
  const folder = scratchFolder(t, 'lmtp')
  const directory = openTestDirectory(folder)
  const ann = await addAccount(directory, folder, ANN, quota)
  /** @type {string[]} */
  const notified = []
  const server = createLmtpServer({
    config: {
      ...DELIVERY_CONFIG,
      lmtp: { ...DELIVERY_CONFIG.lmtp, ...lmtp },
      messages: { maxBytes }
    },
    directory: alter
      ? { findByAddress: async (address) => alter(await directory.findByAddress(address)) }
      : directory,
    clock: systemClock,
    logger: options.logger ?? silentLogger,
    tls: options.tls ?? (options.hasTls ? await makeCertificate(t) : null),
    ...(options.admits && { admits: options.admits }),
    notify: options.notify ?? ((accountId) => notified.push(accountId)),
    serverName: 'mail.example.org'
  })
  const proxy = options.proxy ?? null
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, proxy })
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await server.close()
    await directory.close()
  }
  t.after(close)
  return {
    folder,
    directory,
    server,
    port,
    notified,
    close,
    ...ann,
    /**
     * @param {string} address
     * @param {{ quotaBytes?: number, quotaMessages?: number }} [limits]
     */
    add: (address, limits) => addAccount(directory, folder, address, limits)
  }
}

/** @param {import('node:test').TestContext} t */
const makeCertificate = (t) =>
  loadCertificate({
    folder: scratchFolder(t, 'tls'),
    certificateFile: '',
    keyFile: '',
    clock: systemClock
  })

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
  assert.ok(!String(toBob?.message).toLowerCase().includes('ann'))
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

test('a message that is announced too big is refused at MAIL with 552 5.3.4', async (t) => {
  const { port } = await startLmtp(t, { maxBytes: 5000 + 4096 })
  const client = await LmtpClient.connect(port)
  assert.match(await client.say('MAIL FROM:<> SIZE=5001'), /^552 5\.3\.4 /)
  assert.match(await client.say('MAIL FROM:<> SIZE=5000'), /^250 /)
  await client.quit()
})

test('a message that proves too big is refused for each recipient with 552 5.3.4, and nothing stays', async (t) => {
  const { port, folder, add, spoolFolder, identity } = await startLmtp(t, { maxBytes: 5000 + 4096 })
  await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  const to = [ANN, 'bob@example.org']
  const replies = await client.deliver({ to, message: Buffer.alloc(300_000, 'x\r\n') })
  assert.equal(replies.length, 2)
  for (const reply of replies) assert.match(reply, /^552 5\.3\.4 /)
  assert.deepEqual(filesBelow(join(folder, 'mail')), [])
  const exact = Buffer.alloc(5000, 'abc\r\n')
  assert.match(String(await client.deliver({ to: [ANN], message: exact })), /^250 /)
  assert.match(
    String(
      await client.deliver({ to: [ANN], message: Buffer.concat([exact, Buffer.from('\r\n')]) })
    ),
    /^552 5\.3\.4 /
  )
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  await client.quit()
})

test('over quota: 452 4.2.2, or 552 5.2.2 where the configuration says so', async (t) => {
  for (const [overQuota, expected] of /** @type {const} */ ([
    ['temporary', /^452 4\.2\.2 /],
    ['permanent', /^552 5\.2\.2 /]
  ])) {
    const { port, directory, account } = await startLmtp(t, {
      lmtp: { overQuota },
      quota: { quotaBytes: 100_000 }
    })
    const client = await LmtpClient.connect(port)
    await client.say('MAIL FROM:<> SIZE=60000')
    assert.match(await client.say(`RCPT TO:<${ANN}>`), /^250 /)
    directory.recordUsage(account.id, { bytes: 50_000, messages: 3 })
    await directory.flush()
    assert.match(await client.say(`RCPT TO:<ann+2@example.org>`), expected)
    await client.quit()
  }
})

test('mail that waits in the spool counts against the quota', async (t) => {
  const { port } = await startLmtp(t, { quota: { quotaBytes: 40_000 } })
  const client = await LmtpClient.connect(port)
  const message = Buffer.alloc(15_000, 'x\r\n')
  assert.match(String(await client.deliver({ to: [ANN], message })), /^250 /)
  assert.match(String(await client.deliver({ to: [ANN], message })), /^250 /)
  assert.match(String(await client.deliver({ to: [ANN], message })), /^452 4\.2\.2 /)
  await client.quit()
})

test('the number of messages counts against the quota', async (t) => {
  const { port } = await startLmtp(t, { quota: { quotaMessages: 2 } })
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: 'x' })), /^250 /)
  assert.match(String(await client.deliver({ to: [ANN], message: 'x' })), /^250 /)
  await client.say('RSET')
  await client.say('MAIL FROM:<>')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^452 4\.2\.2 /)
  await client.quit()
})

test('a key that cannot be sealed to: 451 4.7.5, nothing in the clear, and the others get theirs', async (t) => {
  const { port, folder, add, spoolFolder, identity } = await startLmtp(t, {
    alter: (account) =>
      account?.address === 'bob@example.org'
        ? { ...account, sealPublicKey: Buffer.alloc(1216, 0xff) }
        : account
  })
  await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  const replies = await client.deliver({ to: ['bob@example.org', ANN], message: MESSAGE })
  assert.match(String(replies[0]), /^451 4\.7\.5 /)
  assert.match(String(replies[1]), /^250 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  assert.equal(filesBelow(join(folder, 'mail')).length, 1)
  await client.quit()
})

test('disk trouble: 451 4.3.0, and the others get theirs', async (t) => {
  const { port, add, account, spoolFolder } = await startLmtp(t)
  const bob = await add('bob@example.org')
  rmSync(account.folder, { recursive: true })
  const client = await LmtpClient.connect(port)
  const replies = await client.deliver({ to: [ANN, 'bob@example.org'], message: MESSAGE })
  assert.match(String(replies[0]), /^451 4\.3\.0 /)
  assert.match(String(replies[1]), /^250 /)
  assert.equal((await openSpool(bob.spoolFolder, bob.identity)).length, 1)
  assert.throws(() => filesBelow(spoolFolder), { code: 'ENOENT' })
  await client.quit()
})

test('a full disk: 452 4.3.1, nothing stays, and mail goes on when there is room', async (t) => {
  const { port, account, spoolFolder, identity } = await startLmtp(t)
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'none', account.folder])
  if (mount.status !== 0) return t.skip('needs the right to mount a tmpfs')
  try {
    const client = await LmtpClient.connect(port)
    const message = Buffer.alloc(200_000, 'x\r\n')
    assert.match(String(await client.deliver({ to: [ANN], message })), /^452 4\.3\.1 /)
    assert.deepEqual(filesBelow(spoolFolder), [])
    assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
    assert.equal((await openSpool(spoolFolder, identity)).length, 1)
    await client.quit()
  } finally {
    execFileSync('umount', [account.folder])
  }
})

test('a directory that fails: 451 4.3.0', async (t) => {
  const { port } = await startLmtp(t, {
    alter: () => {
      throw new Error('out of order')
    }
  })
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^451 4\.3\.0 /)
  await client.quit()
})

test('a client that goes away in the middle of a message leaves nothing', async (t) => {
  const { port, folder, spoolFolder } = await startLmtp(t)
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  await client.say(`RCPT TO:<${ANN}>`)
  await client.say('DATA')
  client.wire.send(Buffer.alloc(300_000, 'x\r\n'))
  while (filesBelow(folder).every((path) => !path.startsWith(join(spoolFolder, 'tmp')))) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  client.wire.destroy()
  while (filesBelow(spoolFolder).length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const next = await LmtpClient.connect(port)
  assert.match(String(await next.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  await next.quit()
})

test('a recipient above the limit gets 452 4.5.3, also a repeated one', async (t) => {
  const { port } = await startLmtp(t, { lmtp: { maxRecipients: 2 } })
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^250 /)
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^250 /)
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^452 4\.5\.3 /)
  assert.match(await client.say('RCPT TO:<ann+3@example.org>'), /^452 4\.5\.3 /)
  await client.quit()
})

test('a connection above the limit is told so with 421', async (t) => {
  const { port } = await startLmtp(t, { lmtp: { maxConnections: 1 } })
  const client = await LmtpClient.connect(port)
  const socket = connect({ host: '127.0.0.1', port })
  const [greeting] = await once(socket, 'data')
  assert.match(String(greeting), /^421 /)
  socket.destroy()
  await client.quit()
})

test('a silent client is sent away after the timeout', async (t) => {
  const { port } = await startLmtp(t, { lmtp: { timeoutMs: 200 } })
  const client = await LmtpClient.connect(port)
  assert.match(await client.reply(), /^421 /)
  client.wire.destroy()
})

test('STARTTLS is offered with a certificate; Received then says LMTPS; what was pipelined is dropped', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t, { hasTls: true })
  const wire = await WireClient.connect(port)
  wire.send('LHLO x\r\n')
  assert.match(await wire.until(/250 .*\r\n/), /STARTTLS/)
  wire.send('STARTTLS\r\nNOOP injected\r\n')
  await wire.until(/^220 .*\r\n/)
  const socket = connectTls({ socket: wire.socket, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const client = new LmtpClient(new WireClient(socket))
  assert.match(await client.say('LHLO mta.example'), /^250-/)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  const [mail] = await openSpool(spoolFolder, identity)
  assert.match(String(mail?.message), /with LMTPS id/)
  await client.quit()
})

test('a client that asks for another name gets its certificate, and the one that it is exchanged for', async (t) => {
  const main = await makeCertificate(t)
  const others = await Promise.all([makeCertificate(t), makeCertificate(t)])
  const withOther = (/** @type {Awaited<ReturnType<typeof makeCertificate>>} */ other) => ({
    ...main,
    others: [{ names: ['lmtp.example.net'], cert: other.certificate, key: other.key }]
  })
  const [first, second] = /** @type {[typeof main, typeof main]} */ (others)
  const { port, server } = await startLmtp(t, { tls: withOther(first) })
  const seen = async (/** @type {string} */ servername) => {
    const wire = await WireClient.connect(port)
    wire.send('LHLO x\r\nSTARTTLS\r\n')
    await wire.until(/^220 [^\r]*\r\n/m)
    const socket = connectTls({ socket: wire.socket, servername, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }
  assert.equal(await seen('lmtp.example.net'), first.fingerprint)
  assert.equal(await seen('unknown.example.net'), main.fingerprint)
  server.replaceCertificate(withOther(second))
  assert.equal(await seen('lmtp.example.net'), second.fingerprint)
})

test('behind a load balancer Received names the client of the PROXY header; whoever brings none is turned away', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t, {
    proxy: new ProxyTrust(['127.0.0.1'])
  })
  const socket = connect(port, '127.0.0.1')
  socket.write('PROXY TCP4 192.0.2.7 198.51.100.2 54321 24\r\n')
  const wire = new WireClient(socket)
  await wire.until(/^220 [^\r]*\r\n/)
  const client = new LmtpClient(wire)
  await client.say('LHLO mta.example')
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  await client.quit()
  const [mail] = await openSpool(spoolFolder, identity)
  assert.match(String(mail?.message), /^Received: from mta\.example \(\[192\.0\.2\.7\]\)/m)

  const bare = connect(port, '127.0.0.1')
  bare.on('error', () => {})
  bare.write('LHLO mta.example\r\n')
  let received = ''
  bare.on('data', (chunk) => (received += chunk))
  await once(bare, 'close')
  assert.equal(received, '')
})

test('while the process can bear no more, a connection gets 421 4.3.2 and its end', async (t) => {
  let isBearing = false
  const { port } = await startLmtp(t, { admits: () => isBearing })
  const wire = new WireClient(connect(port, '127.0.0.1'))
  await wire.until(/^421 4\.3\.2 [^\r]*\r\n/)
  await once(wire.socket, 'close')
  isBearing = true
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  await client.quit()
})

test('a message that is stored gets its 250, even when nobody can be told of it', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t, {
    notify: () => {
      throw new Error('out of order')
    }
  })
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  await client.quit()
})

test('what a killed process left in tmp/ an hour ago goes with the next mail', async (t) => {
  const { port, spoolFolder } = await startLmtp(t)
  const leftover = join(spoolFolder, 'tmp', `${'0'.repeat(32)}.sealed`)
  mkdirSync(join(spoolFolder, 'tmp'), { recursive: true })
  writeFileSync(leftover, 'x')
  utimesSync(leftover, 1, 1)
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  assert.ok(!existsSync(leftover))
  await client.quit()
})

test('close lets a running transfer end with its 250, and sends idle clients away', async (t) => {
  const { port, close, spoolFolder, identity } = await startLmtp(t)
  const idle = await LmtpClient.connect(port)
  const busy = await LmtpClient.connect(port)
  await busy.say('MAIL FROM:<>')
  await busy.say(`RCPT TO:<${ANN}>`)
  await busy.say('DATA')
  busy.wire.send('Subject: x\r\n\r\n')
  const closing = close()
  assert.match(await idle.reply(), /^421 /)
  busy.wire.send('body\r\n.\r\n')
  assert.match(await busy.reply(), /^250 /)
  assert.match(await busy.reply(), /^421 /)
  idle.wire.destroy()
  busy.wire.destroy()
  await closing
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
})

test('a port that is taken rejects listen', async (t) => {
  const { port } = await startLmtp(t)
  const other = createLmtpServer({
    config: DELIVERY_CONFIG,
    directory: { findByAddress: async () => null },
    clock: systemClock,
    logger: silentLogger,
    notify: () => {}
  })
  await assert.rejects(other.listen({ host: '127.0.0.1', port }), { code: 'EADDRINUSE' })
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

test('a folder that stands where the spool should be is disk trouble, not a crash', async (t) => {
  const { port, account, spoolFolder } = await startLmtp(t)
  mkdirSync(account.folder, { recursive: true })
  writeFileSync(spoolFolder, 'x')
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^451 4\.3\.0 /)
  await client.quit()
})
