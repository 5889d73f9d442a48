import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, unknown>} [settings]
 * @returns {Promise<WireClient>} logged in
 */
async function connect(t, settings = {}) {
  const server = await startImapServer(t, { settings })
  const wire = await WireClient.connect(server.port)
  t.after(() => wire.destroy())
  await wire.login('alice', `"${PASSWORD}"`)
  return wire
}

/**
 * @param {WireClient} wire
 * @param {Buffer} message
 * @returns {Promise<string>}
 */
async function append8(wire, message) {
  wire.send(`x APPEND INBOX ~{${message.length}+}\r\n`)
  wire.send(message)
  wire.send('\r\n')
  return await wire.until(/x [^\r]*\r\n/)
}

/**
 * @param {string} answer - to a FETCH of one section
 * @returns {Buffer} its content
 */
function contentOf(answer) {
  const bytes = Buffer.from(answer, 'latin1')
  const head = /\{(\d+)\}\r\n/.exec(answer)
  if (head === null) throw new Error(answer.slice(0, 200))
  const start = head.index + head[0].length
  return bytes.subarray(start, start + Number(head[1]))
}

test('NUL in a literal8 comes back by BINARY byte for byte; BODY and BODYSTRUCTURE have base64 (RFC 3516 §4.4, §6)', async (t) => {
  const wire = await connect(t)
  for (const size of [5, 1000, 700_000]) {
    const data = Buffer.concat([Buffer.from([0]), randomBytes(size), Buffer.from('\r\n\0')])
    const message = Buffer.concat([
      Buffer.from(
        'Subject: parts\r\nContent-Type: multipart/mixed; boundary=cut\r\nContent-Transfer-Encoding: binary\r\n\r\n' +
          '--cut\r\nContent-Transfer-Encoding: binary\r\nContent-Type: text/plain\r\n\r\nno nul\r\n' +
          '--cut\r\nContent-Type: application/octet-stream\r\ncontent-transfer-encoding:\r\n binary\r\nX-After: 1\r\n\r\n'
      ),
      data,
      Buffer.from('\r\n--cut\r\n\r\n'),
      Buffer.from('plain\0text\r\n--cut--\r\n')
    ])
    assert.match(await append8(wire, message), /OK \[APPENDUID/)
    await wire.command('SELECT INBOX')
    const binary = await wire.command('UID FETCH * BINARY.PEEK[2]')
    assert.ok(contentOf(binary).equals(data))
    assert.match(binary, /BINARY\[2\] ~\{/)
    const part = contentOf(await wire.command('UID FETCH * BODY.PEEK[2]'))
    assert.ok(Buffer.from(part.toString(), 'base64').equals(data))
    assert.ok(
      part
        .toString()
        .split('\r\n')
        .every((line) => line.length <= 76)
    )
    const mime = contentOf(await wire.command('UID FETCH * BODY.PEEK[2.MIME]')).toString()
    assert.equal(
      mime,
      'Content-Type: application/octet-stream\r\nX-After: 1\r\nContent-Transfer-Encoding: base64\r\n\r\n'
    )
    assert.equal(
      contentOf(await wire.command('UID FETCH * BINARY.PEEK[3]')).toString('latin1'),
      'plain\0text'
    )
    const structure = await wire.command('UID FETCH * BODYSTRUCTURE')
    assert.match(
      structure,
      /"text" "plain" [^]*"binary" 6 [^]*"octet-stream" NIL NIL NIL "base64" /
    )
    const whole = contentOf(await wire.command('UID FETCH * BODY.PEEK[]'))
    assert.ok(!whole.includes(0))
    assert.match(
      whole.toString('latin1', 0, 200),
      /cut\r\nContent-Transfer-Encoding: 8bit\r\n\r\n--cut/
    )
    const sizes = await wire.command('UID FETCH * (RFC822.SIZE BINARY.SIZE[2])')
    assert.match(
      sizes,
      new RegExp(`RFC822.SIZE ${whole.length} BINARY.SIZE\\[2\\] ${data.length}\\)`)
    )
  }
})

test('a literal8 without NUL is stored as it is', async (t) => {
  const wire = await connect(t)
  const message = Buffer.from(
    'Content-Transfer-Encoding: binary\r\n\r\n\xff\xfe bytes\r\n',
    'latin1'
  )
  await append8(wire, message)
  await wire.command('SELECT INBOX')
  assert.ok(contentOf(await wire.command('FETCH 1 BODY.PEEK[]')).equals(message))
})

test('a literal8 with NUL may be as large as APPENDLIMIT says, though its base64 is larger (RFC 7889 §2)', async (t) => {
  const limit = 1_048_576
  const wire = await connect(t, { 'messages.maxBytes': limit })
  const head = Buffer.from('Subject: x\r\n\r\n')
  const data = randomBytes(limit - head.length)
  data[0] = 0
  assert.match(await append8(wire, Buffer.concat([head, data])), /OK \[APPENDUID/)
  await wire.command('SELECT INBOX')
  assert.ok(contentOf(await wire.command('FETCH 1 BINARY.PEEK[1]')).equals(data))
  assert.match(await append8(wire, Buffer.concat([head, data, Buffer.from([0])])), /NO \[TOOBIG\]/)
})

test('a message that is nothing but one part with NUL, without a header field for it', async (t) => {
  const wire = await connect(t)
  await append8(wire, Buffer.from('Subject: x\r\n\r\na\0b'))
  await wire.command('SELECT INBOX')
  assert.equal(contentOf(await wire.command('FETCH 1 BINARY.PEEK[1]')).toString('latin1'), 'a\0b')
  assert.equal(
    contentOf(await wire.command('FETCH 1 BODY.PEEK[]')).toString(),
    'Subject: x\r\nContent-Transfer-Encoding: base64\r\n\r\nYQBi\r\n'
  )
})

test('a message that begins with a byte order mark keeps it, and its first field counts', async (t) => {
  const wire = await connect(t)
  await append8(wire, Buffer.from('\ufeffContent-Transfer-Encoding: binary\r\nX: 1\r\n\r\na\0b'))
  await append8(wire, Buffer.from('\ufeffFrom: anna@b.example\r\nSubject: x\r\n\r\nhi\r\n'))
  const outer = 'Content-Type: message/rfc822\r\n\r\n'
  const inner = '\ufeffContent-Transfer-Encoding: binary\r\nX: 1\r\n\r\na\0b'
  await append8(wire, Buffer.from(outer + inner))
  await wire.command('SELECT INBOX')
  assert.equal(
    contentOf(await wire.command('FETCH 1 BODY.PEEK[]')).toString(),
    '\ufeffX: 1\r\nContent-Transfer-Encoding: base64\r\n\r\nYQBi\r\n'
  )
  assert.equal(
    contentOf(await wire.command('FETCH 3 BODY.PEEK[]')).toString(),
    `${outer}\ufeffX: 1\r\nContent-Transfer-Encoding: base64\r\n\r\nYQBi\r\n`
  )
  assert.match(await wire.command('SEARCH FROM anna'), /\* SEARCH 2\r\n/)
  assert.match(await wire.command('FETCH 2 ENVELOPE'), /"anna" "b.example"/)
  for (const [section, text] of [
    ['HEADER.FIELDS (FROM)', 'From: anna@b.example\r\n\r\n'],
    ['HEADER.FIELDS (FROM X-OTHER)', 'From: anna@b.example\r\n\r\n'],
    ['HEADER', '\ufeffFrom: anna@b.example\r\nSubject: x\r\n\r\n']
  ])
    assert.equal(contentOf(await wire.command(`FETCH 2 BODY.PEEK[${section}]`)).toString(), text)
})

test('NUL in a multipart without any delimiter stays: there is no header that could tell of base64', async (t) => {
  const wire = await connect(t)
  const message = Buffer.from('Content-Type: multipart/mixed; boundary=b\r\n\r\na\0b\r\n')
  await append8(wire, message)
  await wire.command('SELECT INBOX')
  const answer = await wire.command('FETCH 1 (RFC822.SIZE BINARY.PEEK[1])')
  assert.match(answer, new RegExp(`RFC822.SIZE ${message.length} `))
  assert.equal(contentOf(answer).toString('latin1'), 'a\0b\r\n')
})

test('NUL behind a header of more than a megabyte stays: that is not put together anew', async (t) => {
  const wire = await connect(t)
  const header = 'X-Filler: none\r\n'.repeat(80_000)
  const message = Buffer.from(`${header}\r\na\0b`)
  await append8(wire, message)
  await wire.command('SELECT INBOX')
  const answer = await wire.command('FETCH 1 (RFC822.SIZE BINARY.PEEK[1])')
  assert.match(answer, new RegExp(`RFC822.SIZE ${message.length} `))
  assert.equal(contentOf(answer).toString('latin1'), 'a\0b')
})
