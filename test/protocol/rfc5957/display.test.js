import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('DISPLAYFROM and DISPLAYTO sort by decoded name, then by address, then by nothing (RFC 5957 §3)', async (t) => {
  const server = await startImapServer(t)
  const fields = [
    ['=?utf-8?Q?=C3=89mile?= <z@x.org>', 'delta@x.org'],
    ['dora@x.org', '"Alpha" <q@x.org>'],
    ['"" <anna@x.org>', '=?utf-8?B?QnJhdm8=?= <a@x.org>'],
    ['Zoe <a@x.org>', null],
    ['friends: b@x.org;', 'Carol: a@x.org;']
  ]
  const appended = fields
    .map(([from, to]) =>
      append('INBOX', {
        message: `From: ${from}\r\n${to === null ? '' : `To: ${to}\r\n`}Subject: x\r\n\r\nbody\r\n`
      })
    )
    .join('\n')
  await transcript(
    server,
    `
    ${appended}
    ${select('INBOX', { exists: 5 })}
    C: a SORT (DISPLAYFROM) UTF-8 ALL
    S: * SORT 3 2 1 5 4
    S: a OK ...
    C: b SORT (REVERSE DISPLAYTO) UTF-8 ALL
    S: * SORT 1 5 3 2 4
    S: b OK ...
    `
  )
})
