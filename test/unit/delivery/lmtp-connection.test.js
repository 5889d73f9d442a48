import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { once } from 'node:events'
import { createLmtpServer } from '../../../src/delivery/lmtp.js'
import { systemClock } from '../../../src/support/clock.js'
import { ProxyTrust } from '../../../src/support/proxy-header.js'
import {
  DELIVERY_CONFIG,
  LmtpClient,
  filesBelow,
  openSpool,
  stuffed
} from '../../helpers/delivery.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { WireClient } from '../../helpers/wire-client.js'
import { ANN, MESSAGE, makeCertificate, startLmtp } from '../../helpers/lmtp.js'

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

test('a client that has said all and closed its side gets its replies, and then its end', async (t) => {
  let isStored = false
  const { port, spoolFolder, identity } = await startLmtp(t, {
    onceStored: async () => {
      // The end has come by now.
      await new Promise((resolve) => setTimeout(resolve, 50))
      isStored = true
    }
  })
  const client = await LmtpClient.connect(port)
  const { wire } = client
  const transaction = `MAIL FROM:<>\r\nRCPT TO:<${ANN}>\r\nRCPT TO:<no@example.org>\r\nDATA\r\n`
  wire.send(transaction)
  for (const code of ['250', '250', '550', '354'])
    assert.ok((await client.reply()).startsWith(code), code)
  wire.socket.end(Buffer.concat([stuffed(MESSAGE), Buffer.from(`${transaction}half a mess`)]))
  for (const code of ['250', '250', '250', '550', '354'])
    assert.ok((await client.reply()).startsWith(code), code)
  assert.equal(isStored, true)
  while (!wire.isClosed) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(String(wire.received), '')
  // The message that came whole stays.
  while (filesBelow(spoolFolder).length > 1) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
})

test('a client that closes its side before its handshake is not waited for, whether STARTTLS is answered by then or not', async (t) => {
  const { port } = await startLmtp(t, {
    hasTls: true,
    lmtp: { timeoutMs: 2 ** 31 - 1 },
    alter: async (account) => {
      // The end has come by now.
      await new Promise((resolve) => setTimeout(resolve, 50))
      return account
    }
  })
  const client = await LmtpClient.connect(port)
  client.wire.socket.end(`MAIL FROM:<>\r\nRCPT TO:<${ANN}>\r\nSTARTTLS\r\n`)
  for (const code of ['250', '250', '220']) assert.ok((await client.reply()).startsWith(code), code)
  const other = await LmtpClient.connect(port)
  await other.say('STARTTLS')
  other.wire.socket.end()
  for (const { wire } of [client, other])
    while (!wire.isClosed) await new Promise((resolve) => setTimeout(resolve, 5))
})

test('many recipients that come in one piece are looked up a few at a time', async (t) => {
  let lookups = 0
  const alter = (/** @type {any} */ account) => {
    lookups++
    const startedMs = performance.now()
    while (performance.now() - startedMs < 1);
    return account
  }
  const { port } = await startLmtp(t, { alter })
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  let most = 0
  let before = 0
  const watch = () => {
    most = Math.max(most, lookups - before)
    before = lookups
    watching = setImmediate(watch)
  }
  let watching = setImmediate(watch)
  client.wire.send('RCPT TO:<nobody@example.org>\r\n'.repeat(100))
  for (let reply = 0; reply < 100; reply++) await client.reply()
  clearImmediate(watching)
  assert.equal(lookups, 100)
  assert.ok(most <= 20, `${most} in a turn`)
  client.wire.destroy()
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
  const wire = await WireClient.connect(port)
  wire.send('LHLO mta.example\r\n')
  // On a machine that stands still for a moment it comes before the answer to LHLO.
  await wire.until(/^421 [^\r]*\r\n/m)
  wire.destroy()
})

/**
 * @param {LmtpClient} client
 * @param {number} recipients
 */
async function beginMessage(client, recipients) {
  await client.say('MAIL FROM:<>')
  for (let at = 0; at < recipients; at++) await client.say(`RCPT TO:<ann+${at}@example.org>`)
  assert.match(await client.say('DATA'), /^354 /)
}

test('senders that only let a byte through now and then lose their connection, and do not keep others from delivering', async (t) => {
  const { logger, lines } = recordingLogger()
  const { port, spoolFolder, identity } = await startLmtp(t, { logger, lmtp: { timeoutMs: 1500 } })
  // Together more files than may be open at once: the third waits for the first two.
  const slow = await Promise.all([1, 2, 3].map(() => LmtpClient.connect(port)))
  await Promise.all(slow.map((client) => beginMessage(client, 200)))
  const dripping = setInterval(() => {
    for (const { wire } of slow) if (!wire.isClosed) wire.send('x')
  }, 100)
  t.after(() => clearInterval(dripping))
  for (const client of slow.slice(0, 2)) assert.match(await client.reply(), /^421 .*[Ss]low/)
  for (const { wire } of slow)
    while (!wire.isClosed) await new Promise((resolve) => setTimeout(resolve, 5))
  while (filesBelow(spoolFolder).length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const next = await LmtpClient.connect(port)
  assert.match(String(await next.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  await next.quit()
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  assert.deepEqual(
    lines.filter(({ level }) => level !== 'info'),
    []
  )
})

test('a message may take longer than the timeout as long as it comes on', async (t) => {
  const { port } = await startLmtp(t, { lmtp: { timeoutMs: 1000 } })
  const client = await LmtpClient.connect(port)
  await beginMessage(client, 1)
  for (let at = 0; at < 20; at++) {
    client.wire.send('a line of this message\r\n'.repeat(8))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  client.wire.send('.\r\n')
  assert.match(await client.reply(), /^250 /)
  await client.quit()
})

test('a client that breaks its connection off behind its message is no warning, and the message comes once', async (t) => {
  const { logger, lines } = recordingLogger()
  const says = async (/** @type {string} */ words) => {
    while (!lines.some(({ msg }) => msg === words))
      await new Promise((resolve) => setTimeout(resolve, 5))
  }
  let breakOff = () => {}
  const { port, spoolFolder, identity } = await startLmtp(t, {
    logger,
    onceStored: async () => {
      breakOff()
      await says('a delivery connection was broken off')
    }
  })
  const gone = await LmtpClient.connect(port)
  await beginMessage(gone, 1)
  breakOff = () => gone.wire.socket.resetAndDestroy()
  gone.wire.send(stuffed(MESSAGE))
  await says('mail sealed')
  const early = await LmtpClient.connect(port)
  await beginMessage(early, 1)
  early.wire.socket.write('half a mess')
  while (filesBelow(spoolFolder).length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  early.wire.socket.resetAndDestroy()
  while (filesBelow(spoolFolder).length > 1) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  await says('a message did not come to its end')
  assert.deepEqual(
    lines.filter(({ level }) => level !== 'info'),
    []
  )
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

test('at the end of its grace a transfer that has not ended is cut and leaves nothing; a message that is being stored is answered for: refused, it would come twice', async (t) => {
  let asked = () => {}
  const isStored = new Promise((resolve) => (asked = () => resolve(undefined)))
  let goOn = () => {}
  const mayGoOn = new Promise((resolve) => (goOn = () => resolve(undefined)))
  const { port, close, spoolFolder, identity } = await startLmtp(t, {
    graceMs: 50,
    onceStored: async () => {
      asked()
      await mayGoOn
    }
  })
  const storing = await LmtpClient.connect(port)
  const unended = await LmtpClient.connect(port)
  await unended.say('MAIL FROM:<>')
  await unended.say(`RCPT TO:<${ANN}>`)
  await unended.say('DATA')
  unended.wire.send('Subject: x\r\n\r\n')
  const answer = storing.deliver({ to: [ANN], message: MESSAGE })
  await isStored
  const closing = close()
  assert.match(await unended.reply(), /^421 .*shutting down/)
  goOn()
  assert.match(String(await answer), /^250 /)
  await closing
  for (const { wire } of [storing, unended]) wire.destroy()
  while (filesBelow(spoolFolder).length > 1) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
})

test('a port that is taken rejects listen, and is logged as no failure of a connection', async (t) => {
  const { port, directory } = await startLmtp(t)
  const { logger, lines } = recordingLogger()
  const other = createLmtpServer({
    config: DELIVERY_CONFIG,
    directory,
    clock: systemClock,
    logger,
    notify: () => {}
  })
  await assert.rejects(other.listen({ host: '127.0.0.1', port }), { code: 'EADDRINUSE' })
  assert.deepEqual(lines, [])
})
