/**
 * Each question about answers is put to a server that answers well, and then through a line on which one thing of the
 * answer becomes another: as many lines and as many hits, and wrong.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { question as appleHeaders } from '../../benchmarks/imap/apple-headers.bench.js'
import { question as body } from '../../benchmarks/imap/body.bench.js'
import { question as bodyStructure } from '../../benchmarks/imap/body-structure.bench.js'
import { question as copyMove } from '../../benchmarks/imap/copy-move.bench.js'
import { question as envelope } from '../../benchmarks/imap/envelope.bench.js'
import { question as flagScan } from '../../benchmarks/imap/flag-scan.bench.js'
import { question as headerList } from '../../benchmarks/imap/header-list.bench.js'
import { question as search } from '../../benchmarks/imap/search.bench.js'
import { BIG } from '../../benchmarks/imap/set-up.js'
import { question as smallMailbox } from '../../benchmarks/imap/small-mailbox.bench.js'
import { question as sort } from '../../benchmarks/imap/sort.bench.js'
import { question as store } from '../../benchmarks/imap/store.bench.js'
import { question as wholeHeaders } from '../../benchmarks/imap/whole-headers.bench.js'
import { ImapClient, appendArguments } from '../../benchmarks/lib/imap-client.js'
import { MailGenerator } from '../../benchmarks/lib/mail.js'
import { createAccounts, scratchFolder, startServerProcess } from '../helpers/process.js'

const MESSAGES = 120
const SEED = 42

/** @typedef {(text: string, command: string) => string} Change - of what the server says, or the client */

/** @type {Change} */
const same = (text) => text

/** @param {string} numbers */
const eachAlone = (numbers) => (numbers.match(/\d+/g) ?? []).map((uid) => `(${uid})`).join('')

/**
 * @type {{ question: import('../../benchmarks/lib/question.js').Question, what: string, says?: Change, asks?: Change, error: RegExp }[]}
 */
const LIES = [
  {
    question: search,
    what: 'other messages than those with the word',
    says: (text) =>
      text.replace(/\* SEARCH ([\d ]+)/, (_, found) =>
        ['* SEARCH', ...found.split(' ').map((/** @type {string} */ uid) => +uid + 1)].join(' ')
      ),
    error: /hits of TEXT, a rare word.*expected 8, got 9/
  },
  {
    question: envelope,
    what: 'the Message-ID of another message',
    says: (text) =>
      text.replace(/"<(\d+)\.2a@benchmark\.example>"\)\)/g, '"<1$1.2a@benchmark.example>"))'),
    error: /ENVELOPE.* of message/
  },
  {
    question: body,
    what: 'one letter that is another',
    says: (text) => text.replace(/^Subject: ./gm, 'Subject: \u00e4'),
    error: /message \d+, byte for byte/
  },
  {
    question: body,
    what: 'the numbers of other messages',
    says: (text) =>
      text.replace(
        /^\* (\d+) FETCH \(BODY/gm,
        (_, number) => `* ${1 + (Number(number) % MESSAGES)} FETCH (BODY`
      ),
    error: /messages.*expected/
  },
  {
    question: headerList,
    what: 'no To',
    says: (text) => text.replaceAll('\r\nTo: ', '\r\nTw: '),
    error: /header list.* of message/
  },
  {
    question: appleHeaders,
    what: 'another signature',
    says: (text) => text.replaceAll('DKIM-Signature: v=1', 'DKIM-Signature: v=2'),
    error: /Apple Mail.* of message/
  },
  {
    question: wholeHeaders,
    what: 'no Received',
    says: (text) => text.replaceAll('Received: from', 'Retrieved: fro'),
    error: /whole header.* of message/
  },
  {
    question: bodyStructure,
    what: 'another type',
    says: (text) => text.replaceAll('"plain"', '"plane"'),
    error: /BODYSTRUCTURE.* of message/
  },
  {
    question: flagScan,
    what: 'another flag for \\Seen',
    says: (text) => text.replaceAll('\\Seen', '\\Done'),
    error: /flags of message/
  },
  {
    question: store,
    what: 'answers without the other flags',
    says: (text, command) =>
      command.includes('STORE') ? text.replaceAll('\\Seen', '\\Done') : text,
    error: /flags of message/
  },
  {
    question: copyMove,
    what: 'the next messages copied',
    asks: (text) => text.replace('COPY 1:100', 'COPY 2:101'),
    error: /message \d+, byte for byte/
  },
  {
    question: sort,
    what: 'sizes the other way round',
    says: (text, command) =>
      command.includes('(SIZE)')
        ? text.replace(/\* SORT ([\d ]+)/, (_, found) =>
            ['* SORT', ...found.split(' ').toReversed()].join(' ')
          )
        : text,
    error: /the order of SORT \(SIZE\)/
  },
  {
    question: sort,
    what: 'each message as a thread of its own',
    says: (text) =>
      text.replace(/\* THREAD ([^\r]*)/, (_, threads) => `* THREAD ${eachAlone(threads)}`),
    error: /the order of THREAD REFERENCES/
  },
  {
    question: smallMailbox,
    what: 'another text in a body',
    says: (text, command) =>
      command.includes('(BODY.PEEK[])') ? text.replaceAll('Hello', 'Hallo') : text,
    error: /message 50, byte for byte/
  },
  {
    question: smallMailbox,
    what: 'all hits but the message that has just come',
    says: (text, command) =>
      command.includes('SEARCH TEXT')
        ? text.replace(/(\* SEARCH \d+(?: \d+)*) (?:10[1-9]|100[1-9])\r/, '$1\r')
        : text,
    error: /number of hits, the new message among them/
  }
]

/**
 * @param {import('node:test').TestContext} t
 * @param {number} port - of the server
 * @param {{ says: Change, asks: Change }} changes
 * @returns {Promise<number>} the port of a line to it
 */
async function changedLine(t, port, { says, asks }) {
  const line = createServer((client) => {
    const server = connect({ host: '127.0.0.1', port })
    let command = ''
    client.on('data', (chunk) => {
      command = chunk.toString('latin1')
      server.write(asks(command, command), 'latin1')
    })
    let answer = ''
    server.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      // Whole answers: a piece may end in the midst of what is changed.
      if (!/(^\* OK|(^|\n)q\w+x )[^\n]*\r\n$/.test(answer)) return
      client.write(says(answer, command), 'latin1')
      answer = ''
    })
    for (const [one, other] of [
      [client, server],
      [server, client]
    ]) {
      one?.on('close', () => other?.destroy())
      one?.on('error', () => other?.destroy())
    }
  })
  line.listen(0, '127.0.0.1')
  await once(line, 'listening')
  t.after(() => line.close())
  return /** @type {import('node:net').AddressInfo} */ (line.address()).port
}

test('a wrong answer fails a benchmark, also where as many lines and hits come', async (t) => {
  const folder = scratchFolder(t, 'wrong-answers')
  const data = join(folder, 'data')
  mkdirSync(data)
  await createAccounts(data, ['u1@localhost'])
  const { ports } = await startServerProcess(t, { data })
  const generator = new MailGenerator(SEED)
  const client = await ImapClient.connect({ host: '127.0.0.1', port: ports.imap })
  await client.login('u1', 'pass')
  await client.run(`CREATE ${BIG}`)
  const mails = Array.from({ length: MESSAGES }, (_, index) => generator.mailOf(index))
  await client.run([`APPEND ${BIG}`, ...mails.flatMap(appendArguments)])
  client.close()
  const runThrough = (/** @type {number} */ imap) =>
    /** @type {any} */ ({
      contender: { id: 'letterlock' },
      options: { isQuick: true, messages: MESSAGES, users: 1, seed: SEED, rounds: 1 },
      ...{ folder, round: 0, prepared: {}, progress: () => {} },
      context: { servers: [{ id: 'letterlock', ports: { imap }, folder: data }], users: 1 }
    })
  await smallMailbox.prepare?.(runThrough(ports.imap))

  for (const { question, what, says = same, asks = same, error } of LIES) {
    await t.test(`${question.id}: ${what}`, async (t) => {
      const answered = async (/** @type {{ says: Change, asks: Change }} */ changes) => {
        return await question.measure(runThrough(await changedLine(t, ports.imap, changes)))
      }
      await answered({ says: same, asks: same })
      await assert.rejects(() => answered({ says, asks }), error)
    })
  }
})
