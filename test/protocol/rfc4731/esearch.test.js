import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const four = Array(4).fill(append('INBOX')).join('\n')

test('RETURN answers ESEARCH with what was asked for, and nothing more (RFC 4731 §3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Deleted' })}
    ${four}
    ${select('INBOX', { exists: 5 })}
    C: x EXPUNGE
    S: * 1 EXPUNGE
    S: * 4 RECENT
    S: x OK ...
    C: a1 SEARCH RETURN (ALL) ALL
    S: * ESEARCH (TAG "a1") ALL 1:4
    S: a1 OK SEARCH completed
    C: a2 SEARCH RETURN () ALL
    S: * ESEARCH (TAG "a2") ALL 1:4
    S: a2 OK ...
    C: a3 UID SEARCH RETURN (MIN COUNT MAX) 2:3
    S: * ESEARCH (TAG "a3") UID MIN 3 MAX 4 COUNT 2
    S: a3 OK UID SEARCH completed
    C: a4 UID SEARCH RETURN (MIN MAX ALL COUNT) OR 1 3:4
    S: * ESEARCH (TAG "a4") UID MIN 2 MAX 5 ALL 2,4:5 COUNT 3
    S: a4 OK ...
    C: a5 SEARCH RETURN (count) CHARSET UTF-8 UNSEEN
    S: * ESEARCH (TAG "a5") COUNT 4
    S: a5 OK ...
    `
  )
})

test('a search that finds nothing answers without MIN, MAX and ALL, but with COUNT 0 (RFC 4731 §3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    C: a1 SEARCH RETURN (MIN MAX ALL COUNT) FLAGGED
    S: * ESEARCH (TAG "a1") COUNT 0
    S: a1 OK ...
    C: a2 UID SEARCH RETURN (MIN) FLAGGED
    S: * ESEARCH (TAG "a2") UID
    S: a2 OK ...
    C: a3 UID SEARCH FLAGGED
    S: * SEARCH
    S: a3 OK ...
    `
  )
})

test('an unknown return option, or RETURN without a list, is BAD', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 0 })}
    C: a SEARCH RETURN (FIRST) ALL
    S: a BAD ...
    C: b SEARCH RETURN ALL
    S: b BAD ...
    C: c SEARCH RETURN (MIN)
    S: c BAD ...
    `
  )
})

test('MODSEQ tells the highest of the messages that the answer names (RFC 4731 §3.2, RFC 7162 §3.1.10)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4, parameters: ' (CONDSTORE)' })}
    C: s1 STORE 1 +FLAGS.SILENT (\\Seen)
    S: * 1 FETCH (UID 1 MODSEQ ({{one}}))
    S: s1 OK ...
    C: s3 STORE 3 +FLAGS.SILENT (\\Seen)
    S: * 3 FETCH (UID 3 MODSEQ ({{three}}))
    S: s3 OK ...
    C: s2 STORE 2 +FLAGS.SILENT (\\Seen)
    S: * 2 FETCH (UID 2 MODSEQ ({{two}}))
    S: s2 OK ...
    C: a1 SEARCH RETURN (MIN) MODSEQ {{one}}
    S: * ESEARCH (TAG "a1") MIN 1 MODSEQ {{one}}
    S: a1 OK ...
    C: a2 SEARCH RETURN (MAX) MODSEQ {{one}}
    S: * ESEARCH (TAG "a2") MAX 3 MODSEQ {{three}}
    S: a2 OK ...
    C: a3 SEARCH RETURN (MIN MAX) MODSEQ {{one}}
    S: * ESEARCH (TAG "a3") MIN 1 MAX 3 MODSEQ {{three}}
    S: a3 OK ...
    C: a4 SEARCH RETURN (MIN COUNT) MODSEQ "/flags/\\\\seen" all {{one}}
    S: * ESEARCH (TAG "a4") MIN 1 COUNT 3 MODSEQ {{two}}
    S: a4 OK ...
    C: a5 UID SEARCH RETURN () MODSEQ 999999
    S: * ESEARCH (TAG "a5") UID
    S: a5 OK ...
    `
  )
})
