/**
 * Replays what real mail programs say: `test/protocol/clients/*.transcript` (in the language of transcript.js), each
 * against a fresh server with the same few messages in INBOX.
 */
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startImapServer } from './server.js'
import { LineClient, transcript } from './transcript.js'

const FOLDER = new URL('../protocol/clients/', import.meta.url)

/** @typedef {{ flags: string, date: string, text: string }} FixtureMessage */

/** @type {readonly FixtureMessage[]} */
const INBOX = [
  {
    flags: '\\Seen',
    date: ' 2-Mar-2026 08:00:00 +0000',
    text: [
      'From: Ada <ada@example.net>',
      'To: alice@example.org',
      'Subject: Lunch',
      'Date: Mon, 2 Mar 2026 08:00:00 +0000',
      'Message-ID: <1@example.net>',
      'Content-Type: text/plain; charset=us-ascii',
      '',
      'At noon?',
      ''
    ]
  },
  {
    flags: '\\Seen \\Answered',
    date: ' 3-Mar-2026 09:30:00 +0100',
    text: [
      'From: =?UTF-8?Q?J=C3=BCrgen?= <j@example.net>',
      'To: alice@example.org',
      'Cc: ada@example.net',
      'Subject: =?UTF-8?B?R3LDvMOfZQ==?=',
      'Date: Tue, 3 Mar 2026 09:30:00 +0100',
      'Message-ID: <2@example.net>',
      'In-Reply-To: <1@example.net>',
      'References: <1@example.net>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary="cut"',
      '',
      '--cut',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      'see below',
      '--cut',
      'Content-Type: text/csv; name="list.csv"',
      'Content-Disposition: attachment; filename="list.csv"',
      'Content-Transfer-Encoding: base64',
      '',
      'YSxiCjEsMgo=',
      '--cut--',
      ''
    ]
  },
  {
    flags: '',
    date: ' 4-Mar-2026 10:00:00 +0000',
    text: [
      'From: news@example.com',
      'To: alice@example.org',
      'Subject: Offers',
      'Date: Wed, 4 Mar 2026 10:00:00 +0000',
      'Message-ID: <3@example.com>',
      'List-Unsubscribe: <mailto:off@example.com>',
      'X-Priority: 3',
      'Content-Type: text/html; charset=utf-8',
      '',
      '<p>Buy</p>',
      ''
    ]
  }
].map(({ text, ...rest }) => ({ ...rest, text: text.join('\r\n') }))

/**
 * @param {import('./server.js').TestServer} server
 * @param {readonly FixtureMessage[]} [messages]
 */
async function fillInbox(server, messages = INBOX) {
  const client = await LineClient.connect(server)
  await client.login()
  for (const { flags, date, text } of messages) {
    await client.command(`APPEND INBOX (${flags}) "${date}" {${text.length}+}\r\n${text}`)
  }
  // The first session that selects takes \Recent; the dialogues begin after that.
  await client.command('SELECT INBOX')
  await client.command('LOGOUT')
  client.close()
}

/**
 * Three tests of one transcript: as written, every byte by itself, and each run of commands that the client need not
 * wait within as one write.
 *
 * @param {string} name - of the file, without its ending
 * @param {string} promise - what the test shows
 */
export function testReplay(name, promise) {
  const text = readFileSync(new URL(`${name}.transcript`, FOLDER), 'utf8')
  const ways = [
    { how: 'as it is', options: {} },
    { how: 'every byte by itself', options: { isSplit: true } },
    { how: 'pipelined', options: { isPipelined: true } }
  ]
  for (const { how, options } of ways) {
    test(`${promise}: ${how}`, async (t) => {
      const server = await startImapServer(t)
      await fillInbox(server)
      await transcript(server, text, { login: null, ...options })
    })
  }
}
