import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

/**
 * @param {Record<string, string>} fields
 * @returns {string}
 */
const message = (fields) =>
  `${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\nbody\r\n`

const MESSAGES = [
  {
    Subject: 'Re: zebra',
    From: 'Bob <bob@x.org>',
    To: 'amy@x.org, zoe@x.org',
    Date: 'Mon, 3 Jan 2022 10:00:00 +0000'
  },
  {
    Subject: '[list] Apple (fwd)',
    From: 'alice@x.org',
    To: 'zoe@x.org',
    Date: 'Sun, 2 Jan 2022 23:30:00 -0500'
  },
  { Subject: '=?utf-8?Q?=C3=A4pfel?=', From: '"Zed" <ANNA@x.org>', Cc: 'c@x.org' },
  { From: 'Team: carl@x.org;', To: 'bea@x.org', Date: 'Mon, 3 Jan 2022 10:00:00 +0100' }
]

const appended = MESSAGES.map((fields, index) =>
  append('INBOX', {
    message: message(fields) + 'x'.repeat((index * 7) % 5),
    date: `"0${4 - index}-Jan-2022 00:00:00 +0000"`
  })
).join('\n')

test('each sort key, from what is stored (RFC 5256 §3)', async (t) => {
  const server = await startImapServer(t)
  const dialogue = [
    ['(ARRIVAL)', '4 3 2 1'],
    ['(REVERSE ARRIVAL)', '1 2 3 4'],
    ['(DATE)', '3 2 4 1'],
    ['(REVERSE DATE)', '1 4 2 3'],
    ['(SUBJECT)', '4 2 3 1'],
    ['(FROM)', '2 3 1 4'],
    ['(TO)', '3 1 4 2'],
    ['(CC FROM)', '2 1 4 3'],
    ['(REVERSE CC REVERSE ARRIVAL)', '3 1 2 4'],
    ['(SUBJECT SUBJECT REVERSE SUBJECT)', '4 2 3 1']
  ]
    .map(([criteria, order]) => `C: a SORT ${criteria} UTF-8 ALL\nS: * SORT ${order}\nS: a OK ...`)
    .join('\n')
  await transcript(server, `${appended}\n${select('INBOX', { exists: 4 })}\n${dialogue}`)
})

test('a Date without a time is at 00:00 of its day (RFC 5256 §2.2), and on that day (RFC 3501 §6.4.4)', async (t) => {
  const server = await startImapServer(t)
  const dates = ['4 Jan 2022 10:00:00 +0000', '3 Jan 2022', '3 Jan 2022 24:00:00 -0100', 'some day']
  const date = '"02-Jan-2022 00:00:00 +0000"'
  await transcript(
    server,
    `
    ${dates.map((text) => append('INBOX', { message: message({ Date: text }), date })).join('\n')}
    ${select('INBOX', { exists: 4 })}
    C: a SORT (DATE) UTF-8 ALL
    S: * SORT 4 2 3 1
    S: a OK ...
    C: b SEARCH SENTON 3-Jan-2022
    S: * SEARCH 2 3
    S: b OK ...
    `
  )
})

test('SORT takes search keys and a charset, UID SORT gives UIDs, MODSEQ is told (RFC 7162 §3.1.6)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${appended}
    ${select('INBOX', { exists: 4 })}
    C: a STORE 1 +FLAGS.SILENT (\\Deleted)
    S: a OK ...
    C: b EXPUNGE
    S: * 1 EXPUNGE
    S: * 3 RECENT
    S: b OK ...
    C: c SORT (REVERSE SIZE) US-ASCII FROM "x.org" NOT 3
    S: * SORT 1 2
    S: c OK ...
    C: d UID SORT (SUBJECT) UTF-8 UID 2:4
    S: * SORT 4 2 3
    S: d OK ...
    C: e SORT (DATE) UTF-8 TEXT "not there"
    S: * SORT
    S: e OK ...
    C: f SORT (ARRIVAL) UTF-8 MODSEQ 1
    S: * OK [HIGHESTMODSEQ ...
    S: * SORT 3 2 1 (MODSEQ ...)
    S: f OK ...
    `
  )
})

test('SORT refuses what it does not know', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a SORT (DATE) UTF-8 ALL
    S: a BAD ...
    ${select('INBOX', { exists: 0 })}
    C: b SORT (WEIGHT) UTF-8 ALL
    S: b BAD ...
    C: c SORT (REVERSE) UTF-8 ALL
    S: c BAD ...
    C: d SORT () UTF-8 ALL
    S: d BAD ...
    C: e SORT (DATE) UTF-8
    S: e BAD ...
    C: f SORT (DATE) x-unknown-charset ALL
    S: f NO [BADCHARSET] ...
    C: g SORT (DATE) UTF-8 ALL
    S: * SORT
    S: g OK ...
    `
  )
})
