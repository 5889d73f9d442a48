import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { postfixIsMissing, SmtpClient, startPostfix } from '../helpers/postfix.js'
import { madeMessage, readMailbox } from '../helpers/programs.js'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { base64, plain } from '../helpers/sasl.js'
import { WireClient } from '../helpers/wire-client.js'

/** Mail that does not come is a failure, not a hang. */
const PATIENCE_MS = 60_000
const PASSWORD = 'correct horse'
const ANNA = 'anna@example.org'
const BEN = 'ben@example.org'

/**
 * @param {SmtpClient} client
 * @param {{ from?: string, to?: string, message: number }} mail
 * @returns {Promise<string>} the reply to the end of data
 */
async function send(client, { from = ANNA, to = BEN, message }) {
  assert.match(await client.say(`MAIL FROM:<${from}>`), /^250 /)
  assert.match(await client.say(`RCPT TO:<${to}>`), /^250 /)
  assert.match(await client.say('DATA'), /^354 /)
  client.socket.write(madeMessage(message))
  return await client.say('.')
}

/**
 * @param {number} port
 * @param {number} count
 */
async function readWhenThere(port, count) {
  const client = await WireClient.connect(port, { isTls: true })
  try {
    await client.login(BEN, `"${PASSWORD}"`)
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(100)) {
      const messages = await readMailbox(client, 'INBOX')
      if (messages.length >= count || Date.now() > deadline) return messages
    }
  } finally {
    client.destroy()
  }
}

test(
  'Postfix takes mail from who proves a password over TLS, delivers it here, and refuses recipients that are not',
  { skip: postfixIsMissing() },
  async (t) => {
    const scratch = scratchFolder(t, 'postfix')
    chmodSync(scratch, 0o755)
    const data = join(scratch, 'data')
    mkdirSync(data)
    await createAccounts(data, [ANNA, BEN], PASSWORD)
    const saslSocket = join(scratch, 'auth')
    const server = await startServerProcess(t, {
      data,
      environment: { LETTERLOCK_SASL_SOCKET: saslSocket, LETTERLOCK_SASL_GROUP: 'postfix' }
    })
    const postfix = await startPostfix(t, {
      scratch,
      lmtpPort: server.ports.lmtp,
      saslSocket,
      certificate: join(data, 'tls', 'certificate.pem'),
      key: join(data, 'tls', 'key.pem'),
      domain: 'example.org'
    })
    const readOnly = await letterlock(
      [
        ...['app-password', 'create', ANNA, '--label', 'reader', '--read-only'],
        ...['--password-stdin', '--data', data]
      ],
      { input: `${PASSWORD}\n` }
    )
    assert.equal(readOnly.code, 0, readOnly.stderr)
    const readOnlyPassword = readOnly.stdout.trim()

    await t.test('submission with TLS from the first byte, PLAIN', async () => {
      const client = await SmtpClient.connect(postfix.ports.submissions, { isTls: true })
      assert.match(await client.say('EHLO client.example.net'), /^250-AUTH PLAIN LOGIN$/m)
      assert.match(await client.say(`AUTH PLAIN ${plain(ANNA, 'wrong')}`), /^535 5\.7\.8 /)
      assert.match(
        await client.say(`AUTH PLAIN ${plain(ANNA, readOnlyPassword)}`),
        /^535 5\.7\.8 .*may only read/
      )
      assert.match(await client.say(`MAIL FROM:<${ANNA}>`), /^250 /)
      assert.match(await client.say(`RCPT TO:<${BEN}>`), /^55[34] 5\.7\.1 /)
      await client.say('RSET')
      assert.match(await client.say(`AUTH PLAIN ${plain(ANNA, PASSWORD)}`), /^235 /)
      assert.match(await send(client, { message: 1 }), /^250 2\.0\.0 /)
      client.close()
    })

    await t.test('submission after STARTTLS, LOGIN; nobody sends as somebody else', async () => {
      const client = await SmtpClient.connect(postfix.ports.submission)
      assert.doesNotMatch(await client.say('EHLO client.example.net'), /AUTH/)
      await client.startTls()
      assert.equal(await client.say('AUTH LOGIN'), `334 ${base64('Username:')}`)
      assert.equal(await client.say(base64('ANNA@Example.ORG')), `334 ${base64('Password:')}`)
      assert.match(await client.say(base64(PASSWORD)), /^235 /)
      assert.match(await client.say(`MAIL FROM:<${BEN}>`), /^250 /)
      assert.match(await client.say('RCPT TO:<ada@example.net>'), /^553 5\.7\.1 /)
      await client.say('RSET')
      assert.match(await send(client, { message: 2 }), /^250 2\.0\.0 /)
      client.close()
    })

    await t.test('mail from outside comes in for those who are here alone', async () => {
      const client = await SmtpClient.connect(postfix.ports.smtp)
      assert.match(await client.say('MAIL FROM:<ada@example.net>'), /^250 /)
      assert.match(await client.say('RCPT TO:<nobody@example.org>'), /^550 5\.1\.1 /)
      assert.match(await client.say('RCPT TO:<ada@example.net>'), /^554 5\.7\.1 /)
      await client.say('RSET')
      const outside = { from: 'ada@example.net', to: 'ben+lists@example.org' }
      assert.match(await send(client, { ...outside, message: 3 }), /^250 2\.0\.0 /)
      // Postfix puts such a name into quotes.
      const from = 'foo..bar@docomo.example'
      assert.match(await send(client, { from, message: 4 }), /^250 2\.0\.0 /)
      client.close()
    })

    const messages = await readWhenThere(server.ports.imaps, 4)
    const texts = messages.map(({ bytes }) => bytes.toString())
    for (const number of [1, 2, 3, 4]) {
      const text = texts.find((one) => one.includes(`\r\nSubject: number ${number}\r\n`)) ?? ''
      assert.match(text, /^Return-Path: /m)
      assert.ok(text.endsWith(`\r\n\r\nGrüße ${number}\r\n`), text)
    }
    assert.doesNotMatch(postfix.log(), /(warning|fatal|panic): SASL/)

    await t.test('while the socket is away the client is told to come back', async () => {
      // Connected before: an smtpd that begins without the socket ends at once, as Postfix has it, and greets nobody.
      const client = await SmtpClient.connect(postfix.ports.submissions, { isTls: true })
      await server.stop()
      assert.match(await client.say(`AUTH PLAIN ${plain(ANNA, PASSWORD)}`), /^4\d\d /)
      client.close()
    })
  }
)
