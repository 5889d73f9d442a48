import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

const base64 = (/** @type {string} */ text) => Buffer.from(text).toString('base64')
const plain = (/** @type {string} */ name, /** @type {string} */ password, authorization = '') =>
  base64(`${authorization}\0${name}\0${password}`)

test('LOGIN takes atoms, quoted strings and literals, and answers with the new capabilities', async (t) => {
  const server = await startImapServer(t)
  for (const login of [
    `C: a LOGIN alice "${PASSWORD}"`,
    `C: a LOGIN "alice@example.org" "${PASSWORD}"`,
    `C: a LOGIN ALICE {${PASSWORD.length}}\nS: + ...\nC: ${PASSWORD}`,
    `C: a LOGIN {5+}\nC: alice {${PASSWORD.length}+}\nC: ${PASSWORD}`
  ]) {
    await transcript(
      server,
      `
      S: * OK ...
      ${login}
      S: a OK [CAPABILITY IMAP4rev1 ... IDLE ...] ...
      C: b NOOP
      S: b OK ...
      `,
      { login: null }
    )
  }
})

test('a wrong password, an unknown user and an empty password get one and the same answer', async (t) => {
  const server = await startImapServer(t)
  const variables = await transcript(
    server,
    `
    S: * OK ...
    C: a LOGIN alice wrong
    S: a NO [AUTHENTICATIONFAILED] {{first}} failed
    C: b LOGIN nobody wrong
    S: b NO [AUTHENTICATIONFAILED] {{first}} failed
    C: c LOGIN alice ""
    S: c NO [AUTHENTICATIONFAILED] {{first}} failed
    C: d LOGIN alice "${PASSWORD}"
    S: d OK [CAPABILITY ...
    `,
    { login: null }
  )
  assert.equal(variables.get('first'), 'Authentication')
})

test('AUTHENTICATE PLAIN and LOGIN, with continuation and with an initial response (RFC 4959)', async (t) => {
  const server = await startImapServer(t)
  for (const dialogue of [
    `C: a AUTHENTICATE PLAIN\nS: + \nC: ${plain('alice', PASSWORD)}`,
    `C: a AUTHENTICATE PLAIN ${plain('alice', PASSWORD)}`,
    `C: a authenticate plain ${plain('alice', PASSWORD, 'alice')}`,
    `C: a AUTHENTICATE LOGIN\nS: + ${base64('Username:')}\nC: ${base64('alice')}\nS: + ${base64('Password:')}\nC: ${base64(PASSWORD)}`,
    `C: a AUTHENTICATE LOGIN ${base64('alice')}\nS: + ${base64('Password:')}\nC: ${base64(PASSWORD)}`
  ]) {
    await transcript(
      server,
      `
      S: * OK ...
      ${dialogue}
      S: a OK [CAPABILITY ...
      `,
      { login: null }
    )
  }
})

test('AUTHENTICATE refuses what is no SASL: cancelled, no base64, unknown mechanism, another identity', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    S: * OK ...
    C: a AUTHENTICATE PLAIN
    S: + 
    C: *
    S: a BAD Authentication was cancelled
    C: b AUTHENTICATE PLAIN
    S: + 
    C: !!!!
    S: b BAD ...
    C: c AUTHENTICATE GSSAPI
    S: c NO ...
    C: d AUTHENTICATE PLAIN ${plain('alice', PASSWORD, 'bob')}
    S: d NO [AUTHENTICATIONFAILED] ...
    C: e AUTHENTICATE PLAIN ${base64('no nul')}
    S: e BAD ...
    S: * BYE ...
    S! closed
    `,
    { login: null }
  )
})

test('a command in the place of a SASL answer is BAD as a whole: no password in its literals is a command', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    S: * OK ...
    C: a AUTHENTICATE PLAIN
    S: + 
    C: b LOGIN {5+}
    C: alice {${PASSWORD.length}+}
    C: ${PASSWORD}
    S: a BAD ...
    C: c NOOP
    S: c OK ...
    `,
    { login: null }
  )
})

test('without TLS and away from loopback LOGIN is disabled, and says PRIVACYREQUIRED', async (t) => {
  const server = await startImapServer(t, { settings: { 'imap.allowPlaintextLoopback': false } })
  await transcript(
    server,
    `
    S: * OK [CAPABILITY IMAP4rev1 IMAP4rev2 STARTTLS LOGINDISABLED SASL-IR ...
    C: a LOGIN alice "${PASSWORD}"
    S: a NO [PRIVACYREQUIRED] ...
    C: b AUTHENTICATE PLAIN
    S: b NO [PRIVACYREQUIRED] ...
    C: c AUTHENTICATE PLAIN ${plain('alice', PASSWORD)}
    S: c NO [PRIVACYREQUIRED] ...
    `,
    { login: null }
  )
})

test('STARTTLS, then LOGIN; the capabilities are those of a private connection', async (t) => {
  const server = await startImapServer(t, { settings: { 'imap.allowPlaintextLoopback': false } })
  await transcript(
    server,
    `
    S: * OK ...
    C: a STARTTLS
    S: a OK ...
    TLS
    C: b CAPABILITY
    S: * CAPABILITY IMAP4rev1 IMAP4rev2 AUTH=PLAIN AUTH=LOGIN ...
    S: b OK ...
    C: c STARTTLS
    S: c BAD ...
    C: d LOGIN alice "${PASSWORD}"
    S: d OK ...
    `,
    { login: null }
  )
})

test('what is sent in the clear behind STARTTLS is never obeyed', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.line()
  client.send('a STARTTLS\r\nb LOGIN alice wrong\r\nc NOOP\r\n')
  assert.match((await client.line()) ?? '', /^a OK /)
  await client.startTls()
  const lines = await client.command('CAPABILITY')
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['* CAPABILITY', 't OK']
  )
  client.close()
})

test('implicit TLS: greeting, LOGIN, work (RFC 8314 §3.3)', async (t) => {
  const server = await startImapServer(t, { settings: { 'imap.allowPlaintextLoopback': false } })
  await transcript(server, 'C: a NOOP\nS: a OK ...', { isTls: true })
})

test('STARTTLS is not offered without a certificate', async (t) => {
  const server = await startImapServer(t, { hasTls: false })
  await transcript(
    server,
    `
    S: * OK [CAPABILITY IMAP4rev1 IMAP4rev2 AUTH=PLAIN ...
    C: a STARTTLS
    S: a BAD ...
    `,
    { login: null }
  )
})

test('from the login on each log line of a session says whose mailbox it is about', async (t) => {
  const server = await startImapServer(t)
  await transcript(server, 'C: a NOOP\nS: a OK ...')
  const accountId = await server.accountId('alice')
  const after = server.logged.filter(
    (/** @type {any} */ { text, command }) => text === 'logged in' || command === 'NOOP'
  )
  assert.deepEqual(
    after.map((/** @type {any} */ line) => line.accountId),
    [accountId, accountId]
  )
})

test('no log line carries the password, the name or the address', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    'C: a SELECT INBOX\nS~: ...\n'.replace('S~: ...\n', '') + selectAnswers('a')
  )
  await transcript(server, `S: * OK ...\nC: a LOGIN alice wrongpassword\nS: a NO ...`, {
    login: null
  })
  const text = JSON.stringify(server.logged)
  for (const secret of [PASSWORD, 'wrongpassword', 'alice', 'INBOX']) {
    assert.equal(text.includes(secret), false, secret)
  }
})

/** @param {string} tag */
function selectAnswers(tag) {
  return `
    S: * FLAGS ...
    S: * OK [PERMANENTFLAGS ...
    S: * ... EXISTS
    S: * ... RECENT
    S: * OK [UIDVALIDITY ...
    S: * OK [UIDNEXT ...
    S: * OK [HIGHESTMODSEQ ...
    S: * OK [MAILBOXID ...
    S: ${tag} OK ...`
}

test('sessions of an account are counted: one too many gets NO [LIMIT]', async (t) => {
  const server = await startImapServer(t, { settings: { 'imap.maxConnectionsPerAccount': 2 } })
  await transcript(
    server,
    `
    1S: * OK ...
    1C: a LOGIN alice "${PASSWORD}"
    1S: a OK ...
    2S: * OK ...
    2C: a LOGIN alice "${PASSWORD}"
    2S: a OK ...
    3S: * OK ...
    3C: a LOGIN alice "${PASSWORD}"
    3S: a NO [LIMIT] ...
    2C: b LOGOUT
    2S: * BYE ...
    2S: b OK ...
    2S! closed
    3C: b LOGIN alice "${PASSWORD}"
    3S: b OK ...
    `,
    { login: null }
  )
})
