import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

/**
 * @param {string} id
 * @param {string} subject
 * @param {number} day - of January 2022
 * @param {string} [references]
 * @returns {string}
 */
function mail(id, subject, day, references = '') {
  const lines = [
    `Message-ID: <${id}@x>`,
    `Subject: ${subject}`,
    `Date: ${day} Jan 2022 10:00:00 +0000`,
    ...(references === '' ? [] : [`References: ${references}`])
  ]
  return append('INBOX', { message: `${lines.join('\r\n')}\r\n\r\nbody\r\n` })
}

test('ORDEREDSUBJECT: one thread a subject, the first message above all others (RFC 5256 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('1', 'tea', 5)}
    ${mail('2', 'Re: Coffee', 4)}
    ${mail('3', 'coffee', 2)}
    ${mail('4', 'Fwd: TEA', 6)}
    ${mail('5', 'Re: coffee', 3)}
    ${select('INBOX', { exists: 5 })}
    C: a THREAD ORDEREDSUBJECT UTF-8 ALL
    S: * THREAD (3 (5)(2))(1 4)
    S: a OK ...
    C: b UID THREAD ORDEREDSUBJECT US-ASCII SUBJECT "tea"
    S: * THREAD (1 4)
    S: b OK ...
    C: c THREAD ORDEREDSUBJECT UTF-8 SUBJECT "water"
    S: * THREAD
    S: c OK ...
    `
  )
})

test('threads of one date are in the order of the mailbox (RFC 5256 §2.2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('1', 'water', 3, '<gone@x>')}
    ${mail('2', 'tea', 2)}
    ${mail('3', 'coffee', 2, '<gone@x>')}
    ${mail('4', 'bread', 2)}
    ${select('INBOX', { exists: 4 })}
    C: a THREAD ORDEREDSUBJECT UTF-8 ALL
    S: * THREAD (2)(3)(4)(1)
    S: a OK ...
    C: b THREAD REFERENCES UTF-8 ALL
    S: * THREAD (2)((3)(1))(4)
    S: b OK ...
    `
  )
})

test('REFERENCES: parents by Message-ID, gaps closed, siblings by date (RFC 5256 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('a', 'one', 1)}
    ${mail('c', 'other words', 3, '<a@x> <lost@x>')}
    ${mail('b', 'more words', 2, '<a@x>')}
    ${mail('d', 'and more', 4, '<a@x> <lost@x> <c@x>')}
    ${mail('e', 'first of two orphans', 7, '<gone@x>')}
    ${mail('f', 'second of two', 6, '<gone@x>')}
    ${mail('g', 'single orphan', 5, '<nobody@x>')}
    ${select('INBOX', { exists: 7 })}
    C: a THREAD REFERENCES UTF-8 ALL
    S: * THREAD (1 (3)(2 4))(7)((6)(5))
    S: a OK ...
    C: b THREAD REFERENCES UTF-8 2:4
    S: * THREAD ((3)(2 4))
    S: b OK ...
    `
  )
})

test('REFERENCES: subjects join what references do not, replies below the original (RFC 5256 §3, step 5)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('1', 'Re: plan', 1)}
    ${mail('2', 'plan', 2)}
    ${mail('3', 'RE: Plan', 3)}
    ${mail('4', 'news', 4)}
    ${mail('5', 'news', 5)}
    ${mail('6', 'Re: news', 6)}
    ${mail('7', 'water', 7)}
    ${mail('8', '[fwd: tea] water', 8)}
    ${mail('9', '[fwd: tea] [water]', 9)}
    ${mail('10', '[water]', 9)}
    ${select('INBOX', { exists: 10 })}
    C: a THREAD REFERENCES UTF-8 ALL
    S: * THREAD (2 (1)(3))((4)(5)(6))((7)(8))((9)(10))
    S: a OK ...
    `
  )
})

test('REFERENCES: replies that came before two originals are below the first, by date (RFC 5256 §3, steps 5 and 6)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('a', 'Re: tea', 1)}
    ${mail('b', 'tea', 2)}
    ${mail('c', 'other words', 5, '<b@x>')}
    ${mail('d', 'tea', 3)}
    ${mail('e', 'RE: Tea', 4)}
    ${select('INBOX', { exists: 5 })}
    C: a THREAD REFERENCES UTF-8 ALL
    S: * THREAD ((2 (1)(3))(4)(5))
    S: a OK ...
    `
  )
})

test('REFERENCES: what joins a thread by its subject stands by date among the others (RFC 5256 §3, step 6)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('a', 'tea', 1)}
    ${mail('b', 'other words', 5, '<a@x>')}
    ${mail('c', 'Re: tea', 2)}
    ${mail('d', 'water', 6, '<gone@x>')}
    ${mail('e', 'more words', 9, '<gone@x>')}
    ${mail('f', 'water', 7)}
    ${mail('g', 'Re: bread', 10, '<lost@x>')}
    ${mail('h', 'Re: bread', 13, '<lost@x>')}
    ${mail('i', 'bread', 11, '<nowhere@x>')}
    ${mail('j', 'bread', 12, '<nowhere@x>')}
    ${select('INBOX', { exists: 10 })}
    C: a THREAD REFERENCES UTF-8 ALL
    S: * THREAD (1 (3)(2))((4)(6)(5))((7)(9)(10)(8))
    S: a OK ...
    `
  )
})

test('REFERENCES: loops, duplicates and messages without an id do no harm', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('1', 'w', 1, '<2@x>')}
    ${mail('2', 'x', 2, '<1@x>')}
    ${mail('2', 'y', 3, '<1@x>')}
    ${mail('4', 'z', 4, '<4@x>')}
    ${append('INBOX', { message: 'Date: 5 Jan 2022 10:00:00 +0000\r\n\r\nno id\r\n' })}
    ${append('INBOX', { message: 'Date: 6 Jan 2022 10:00:00 +0000\r\nIn-Reply-To: <4@x> from\r\n\r\nb\r\n' })}
    ${select('INBOX', { exists: 6 })}
    C: a THREAD REFERENCES UTF-8 ALL
    S: * THREAD (2 1 3)(4 6)(5)
    S: a OK ...
    `
  )
})

test('REFERENCES: no loop is closed by way of a message that another has left (RFC 5256 §3, step 1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('x', 'one', 1, '<p@x> <a@x>')}
    ${mail('y', 'two', 2, '<p@x> <b@x>')}
    ${mail('b', 'three', 3, '<q@x>')}
    ${mail('p', 'four', 4, '<a@x>')}
    ${select('INBOX', { exists: 4 })}
    C: a THREAD REFERENCES UTF-8 ALL
    S: * THREAD (3 2)(4 1)
    S: a OK ...
    `
  )
})

test('REFERENCES: the last reference is the parent, also one that stands in the field before (RFC 5256 §3, step 1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${mail('a', 'one', 1)}
    ${mail('b', 'two', 2, '<a@x>')}
    ${mail('c', 'three', 3, '<a@x> <b@x> <a@x>')}
    ${mail('d', 'four', 4, '<a@x> <b@x> <b@x>')}
    ${select('INBOX', { exists: 4 })}
    C: a THREAD REFERENCES UTF-8 ALL
    S: * THREAD (1 (2 4)(3))
    S: a OK ...
    `
  )
})

test('THREAD refuses what it does not know', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 0 })}
    C: a THREAD REFS UTF-8 ALL
    S: a BAD ...
    C: b THREAD REFERENCES UTF-8
    S: b BAD ...
    C: c THREAD REFERENCES no-such-charset ALL
    S: c NO [BADCHARSET] ...
    C: d THREAD REFERENCES ALL
    S: d BAD ...
    C: e THREAD REFERENCES UTF-8 ALL
    S: * THREAD
    S: e OK ...
    `
  )
})
