import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccountStore } from '../../../src/store/account-store.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

/** Whatever headers may look like; the last is too long to be kept ready, so its page is read one by one. */
const MESSAGES = [
  'From: A <a@example.org>\r\nTo: b@example.org\r\nSubject: one\r\n\r\nbody\r\n',
  'Received: from x\r\n\tby y; Mon, 1 Jan 2024 10:00:00 +0000\r\nsubject : folded\r\n and long\r\nReceived: z\r\nFrom: a@b\r\n\r\n',
  'X-Other: 1\r\n\r\nno listed field\r\n',
  'Received: from elsewhere\r\nSubject: of another way\r\n\r\n',
  'Subject: only a header\r\n',
  'Subject: bare\nFrom: c@d\n\nbody\n',
  'Subject: with \0\r\nFrom: "\0" <d\0@e>\r\nContent-Type: text/plain; x="\0"\r\n\r\n\0text \0\r\n',
  'From: d@e\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\n\r\npart\r\n--q--\r\n',
  'Subject: \u00e4\u00f6\u00fc\r\nReferences: <1@x>\r\n <2@x>\r\nDate: nonsense\r\n\r\n',
  'Received: from z\r\nSubject: outer\r\nContent-Type: message/rfc822\r\n\r\nSubject: "inner"\r\n\r\n> quoted\r\n',
  'DKIM-Signature: v=1;\r\n d=a\r\nReceived: y\r\nAuthentication-Results: mx; dkim=pass\r\nSubject: signed\r\nDKIM-Signature: v=2\r\nX-Other: 2\r\n\r\nbody\r\n',
  '\u{feff}Subject: with a mark\r\nX-Other: 3\r\n\r\nbody\r\n',
  'Received-SPF: pass\r\nFrom: e@f\r\nX-Loop: once\r\n\r\nbody\r\n',
  'Subject: no end\r\nContent-Type: text/html\r\n\r\n<p>\u00dc "quoted" \\ text'
]

const LISTS = [
  '(UID FLAGS)',
  '(FLAGS RFC822.SIZE INTERNALDATE)',
  '(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)',
  '(UID BODYSTRUCTURE)',
  '(UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (From To Subject Date References Received)])',
  '(BODY.PEEK[HEADER.FIELDS (From SUBJECT Reply-To)] UID MODSEQ)',
  '(UID RFC822.SIZE FLAGS INTERNALDATE BODYSTRUCTURE BODY.PEEK[HEADER.FIELDS (Date From Subject X-Priority)])',
  '(BODY.PEEK[HEADER.FIELDS (Subject)] ENVELOPE BODY.PEEK[HEADER.FIELDS (Received From)] BODYSTRUCTURE UID)',
  '(PREVIEW (LAZY))',
  '(FLAGS EMAILID MODSEQ UID)',
  '(ENVELOPE EMAILID THREADID UID)',
  '(UID FLAGS BODYSTRUCTURE ENVELOPE INTERNALDATE RFC822.SIZE EMAILID MODSEQ)',
  '(BODY.PEEK[] EMAILID UID)',
  '(INTERNALDATE EMAILID BODY.PEEK[1] UID)',
  '(ENVELOPE PREVIEW UID)',
  '(PREVIEW (LAZY) BODYSTRUCTURE)',
  '(UID BODY.PEEK[HEADER.FIELDS (Subject X-Other)])',
  '(UID RFC822.SIZE INTERNALDATE FLAGS BODY.PEEK[HEADER.FIELDS (from Subject x-nobody-has X-Loop)])',
  '(UID FLAGS BODY.PEEK[HEADER.FIELDS (date subject from to x-priority bimi-location authentication-results dkim-signature)])',
  '(BODYSTRUCTURE BODY.PEEK[HEADER.FIELDS (X-Other From)] BODY.PEEK[HEADER.FIELDS (Received-SPF Received)])',
  '(UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER])',
  '(BODYSTRUCTURE ENVELOPE UID RFC822.HEADER BODY.PEEK[HEADER.FIELDS (Received)] BODY.PEEK[HEADER])',
  '(UID BODY.PEEK[HEADER.FIELDS.NOT (Subject)] ENVELOPE)',
  '(UID BODY.PEEK[])'
]

/**
 * @param {WireClient} client
 * @param {string} command
 * @returns {Promise<string>} the untagged part of the answer
 */
async function untagged(client, command) {
  const answer = await client.command(command)
  const end = answer.search(/w\d+ OK [^\r]*\r\n$/)
  assert.ok(end >= 0, answer)
  return answer.slice(0, end)
}

test('a list over many messages says what each message says when it is asked alone', async (t) => {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  t.after(() => client.destroy())
  await client.login('alice', `"${PASSWORD}"`)
  // In one command, so that what lists are made of is stored with them, and not made for each when it is asked for.
  const appended = [...MESSAGES, ...MESSAGES].map((message, index) => {
    const flags = index % 3 === 0 ? ' (\\Seen kept)' : ''
    const date = `"01-Feb-2024 10:00:0${index % 10} -0130"`
    return `${flags} ${date} {${Buffer.byteLength(message)}+}\r\n${message}`
  })
  assert.match(await client.command(`APPEND INBOX${appended.join('')}`), /^w\d+ OK /)
  /** @type {Set<string>} what pages were put together of */
  const pages = new Set()
  let isPaged = true
  const { readPage } = AccountStore.prototype
  t.mock.method(
    AccountStore.prototype,
    'readPage',
    /**
     * @this {AccountStore}
     * @param {Parameters<typeof readPage>} asked
     */
    async function (...asked) {
      const page = isPaged ? await readPage.apply(this, asked) : null
      const [, , { columns, previews }] = asked
      if (page !== null) pages.add([...columns, `${previews} previews`].join())
      return page
    }
  )
  const check = async (/** @type {number[]} */ uids) => {
    for (const items of LISTS) {
      const alone = []
      isPaged = false
      for (const uid of uids) alone.push(await untagged(client, `UID FETCH ${uid} ${items}`))
      assert.ok(!alone.join('').includes('\0'), items)
      isPaged = true
      const set = `${uids[0]}:${uids.at(-1)}`
      assert.equal(await untagged(client, `UID FETCH ${set} ${items}`), alone.join(''), items)
      assert.equal(
        await untagged(client, `UID FETCH ${uids.join()} ${items}`),
        alone.join(''),
        `${items} of a list of numbers`
      )
      const someUids = uids.filter((_, index) => index % 4 === 1)
      assert.equal(
        await untagged(client, `UID FETCH ${someUids.join()} ${items}`),
        alone.filter((_, index) => index % 4 === 1).join(''),
        `${items} of numbers that lie apart`
      )
    }
  }
  await client.command('SELECT INBOX (CONDSTORE)')
  const all = Array.from({ length: MESSAGES.length * 2 }, (_, index) => index + 1)
  await check(all)
  assert.deepEqual([...pages].sort(), [
    'bodyStructure,envelope,fields,received,signatures,rest,none previews',
    'bodyStructure,envelope,none previews',
    'bodyStructure,fields,none previews',
    'bodyStructure,fields,signatures,received,none previews',
    'bodyStructure,kept previews',
    'bodyStructure,none previews',
    'envelope,all previews',
    'envelope,none previews',
    'fields,envelope,received,bodyStructure,none previews',
    'fields,none previews',
    'fields,received,none previews',
    'fields,received,signatures,rest,none previews',
    'fields,signatures,none previews',
    'kept previews',
    'none previews'
  ])
  // Holes, and a message whose header is not kept ready.
  await client.command('STORE 4,9 +FLAGS.SILENT (\\Deleted)')
  await client.command('EXPUNGE')
  const long = `Subject: ${'long '.repeat(8000)}\r\nFrom: a@b\r\n\r\nbody\r\n`
  await client.command('APPEND INBOX', Buffer.from(long))
  await client.command('NOOP')
  await check([...all.filter((uid) => uid !== 4 && uid !== 9), MESSAGES.length * 2 + 1])
})

test('a message that has just come is read by itself; what lists were read of goes by page, be it one', async (t) => {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  t.after(() => client.destroy())
  await client.login('alice', `"${PASSWORD}"`)
  const appended = MESSAGES.map((text) => ` {${Buffer.byteLength(text)}+}\r\n${text}`)
  await client.command(`APPEND INBOX${appended.join('')}`)
  await client.command('SELECT INBOX')
  const pages = t.mock.method(AccountStore.prototype, 'readPage')
  const bodies = t.mock.method(AccountStore.prototype, 'readBodies')
  const calls = async (/** @type {string} */ command) => {
    const before = pages.mock.callCount() + bodies.mock.callCount()
    assert.match(await client.command(command), /^\* \d+ FETCH [^]*w\d+ OK /)
    return pages.mock.callCount() + bodies.mock.callCount() - before
  }
  assert.equal(await calls('FETCH 1 ENVELOPE'), 0)
  assert.equal(await calls('FETCH 1:2 (FLAGS BODY.PEEK[HEADER])'), 0)
  assert.equal(await calls('FETCH 1:* ENVELOPE'), 1)
  assert.equal(await calls('FETCH 1 ENVELOPE'), 1)
  assert.equal(await calls('FETCH 1:2 (FLAGS BODY.PEEK[HEADER])'), 1)
  await client.command('APPEND INBOX', Buffer.from('Subject: new\r\n\r\nbody\r\n'))
  await client.command('NOOP')
  assert.equal(await calls('FETCH * (ENVELOPE BODYSTRUCTURE)'), 0)
})

test('where lists tell of a header field that messages have none, only those that have it are read', async (t) => {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  t.after(() => client.destroy())
  await client.login('alice', `"${PASSWORD}"`)
  const appended = Array.from({ length: 200 }, (_, index) => {
    const text = `Subject: ${index}\r\n${index % 50 === 20 ? 'X-Rare: yes\r\n' : ''}X-Usual: 1\r\n\r\nbody\r\n`
    return ` {${text.length}+}\r\n${text}`
  })
  await client.command(`APPEND INBOX${appended.join('')}`)
  await client.command('SELECT INBOX')
  const bodies = t.mock.method(AccountStore.prototype, 'readBodies')
  const ask = async (/** @type {string} */ command) => {
    bodies.mock.resetCalls()
    const answer = await client.command(command)
    const read = bodies.mock.calls.reduce((sum, { arguments: [, slots] }) => sum + slots.length, 0)
    return { answer, subjects: answer.match(/\r\nSubject: \d+\r\n/g)?.length, read }
  }
  const found = async (/** @type {string} */ name) => {
    const { answer, ...told } = await ask(`FETCH 1:* (BODY.PEEK[HEADER.FIELDS (Subject ${name})])`)
    return { ...told, lines: answer.match(new RegExp(`\\r\\n${name}: `, 'g'))?.length ?? 0 }
  }
  assert.deepEqual(await found('X-Nobody-Has'), { subjects: 200, lines: 0, read: 0 })
  assert.deepEqual(await found('DKIM-Signature'), { subjects: 200, lines: 0, read: 0 })
  assert.deepEqual(await found('X-Rare'), { subjects: 200, lines: 4, read: 4 })
  assert.deepEqual(await found('X-Usual'), { subjects: 200, lines: 200, read: 200 })
  // A whole header is all there; of few messages, and such that lie far apart, it is sooner read of each.
  const header = async (/** @type {string} */ set) => {
    const { subjects, read } = await ask(`FETCH ${set} (BODY.PEEK[HEADER])`)
    return [subjects, read]
  }
  assert.deepEqual(await header('1:*'), [200, 0])
  assert.deepEqual(await header('1:8'), [8, 0])
  assert.deepEqual(await header('1:7'), [7, 7])
  const far = '1,21,41,61,81,101,121,141,161,181'
  assert.deepEqual(await header(far), [10, 10])
  const pages = t.mock.method(AccountStore.prototype, 'readPage')
  const countPages = async (/** @type {string} */ command) => {
    pages.mock.resetCalls()
    await client.command(command)
    return pages.mock.callCount()
  }
  assert.equal(await countPages('FETCH 1:8 (ENVELOPE RFC822.HEADER)'), 1)
  assert.equal(await countPages(`FETCH ${far} (ENVELOPE RFC822.HEADER)`), 0)
  assert.equal(await countPages(`FETCH ${far} (ENVELOPE BODY.PEEK[HEADER.FIELDS (To)])`), 1)
})
