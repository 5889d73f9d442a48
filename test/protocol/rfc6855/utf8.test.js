import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

const latin1 = (/** @type {string} */ text) => Buffer.from(text).toString('latin1')

test('after ENABLE UTF8=ACCEPT names are UTF-8 both ways; other sessions keep modified UTF-7', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    1C: a ENABLE UTF8=ACCEPT
    1S: * ENABLED UTF8=ACCEPT
    1S: a OK ...
    1C: b CREATE "Entwürfe"
    1S: b OK ...
    1C: c LIST "" "Entw*"
    1S: * LIST (\\HasNoChildren) "/" "${latin1('Entwürfe')}"
    1S: c OK ...
    2C: a LIST "" "Entw*"
    2S: * LIST (\\HasNoChildren) "/" Entw&APw-rfe
    2S: a OK ...
    `
  )
})

test('APPEND with UTF8 (~{n}) keeps the bytes (RFC 6855 §4)', async (t) => {
  const server = await startImapServer(t)
  const text = 'Subject: ü'
  const size = Buffer.byteLength(text)
  await transcript(
    server,
    `
    C: a ENABLE UTF8=ACCEPT
    S: * ENABLED UTF8=ACCEPT
    S: a OK ...
    C: b APPEND INBOX UTF8 (~{${size}+}
    C-: ${text}
    C: )
    S: b OK [APPENDUID ...
    C: c STATUS INBOX (MESSAGES SIZE)
    S: * STATUS INBOX (MESSAGES 1 SIZE ${size})
    S: c OK ...
    `
  )
})

test('a quoted string that is no UTF-8 is BAD, and NO [BADCHARSET] where it is searched for (RFC 6855 §3)', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('ENABLE UTF8=ACCEPT')
  for (const [command, reply] of /** @type {const} */ ([
    ['CREATE "\xe4"', /^t BAD /],
    ['LIST "" "\xe4*"', /^t BAD /],
    [`STATUS "${latin1('ä')}" (MESSAGES)`, /^t NO \[NONEXISTENT\]/],
    ['STATUS {1+}\r\n\xe4 (MESSAGES)', /^t NO \[CANNOT\]/],
    ['SELECT INBOX', /^t OK /],
    ['SEARCH SUBJECT "gr\xfc\xdfe" ALL', /^t NO \[BADCHARSET\]/],
    ['UID SEARCH OR ALL NOT HEADER X "\xfc" ALL', /^t NO \[BADCHARSET\]/],
    ['SEARCH HEADER "\xfc" x', /^t BAD /]
  ])) {
    client.send(Buffer.from(`t ${command}\r\n`, 'latin1'))
    let line = await client.line()
    while (line?.startsWith('* ')) line = await client.line()
    assert.match(line ?? 'closed', reply, command)
  }
  client.close()
})
