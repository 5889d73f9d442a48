import { test } from 'node:test'
import assert from 'node:assert/strict'
import { FetchWriter } from '../../../../../src/imap/protocol/compile/fetch.js'
import { compileQuota, compileQuotaRoot } from '../../../../../src/imap/protocol/compile/quota.js'
import { inProgress, mailboxId } from '../../../../../src/imap/protocol/compile/response-code.js'
import { compileEsearch } from '../../../../../src/imap/protocol/compile/search.js'
import { taken } from '../../../../helpers/fetch-writer.js'

test('PARTIAL stands in ESEARCH with its range, NIL when the page is empty (RFC 9394 §4)', () => {
  const page = (/** @type {number[]} */ numbers, isFromEnd = false) => {
    const pieces = compileEsearch({
      tag: 'a',
      isUid: true,
      count: 9,
      partial: { range: { from: 2, to: 4, isFromEnd, isReversed: false }, numbers },
      modSeq: 7
    })
    return Array.from(pieces, String).join('')
  }
  assert.equal(page([5, 6]), '* ESEARCH (TAG "a") UID COUNT 9 PARTIAL (2:4 5:6) MODSEQ 7\r\n')
  assert.equal(page([], true), '* ESEARCH (TAG "a") UID COUNT 9 PARTIAL (-2:-4 NIL) MODSEQ 7\r\n')
})

test('quota responses name mailboxes and roots as strings (RFC 9208 §4.2)', () => {
  const text = compileQuota('a "b"', [
    { name: 'STORAGE', used: 1, limit: 2 },
    { name: 'MESSAGE', used: 0, limit: 9 }
  ])
  assert.equal(text.toString(), '* QUOTA "a \\"b\\"" (STORAGE 1 2 MESSAGE 0 9)\r\n')
  const roots = (/** @type {string[]} */ names, isUtf8 = false) =>
    compileQuotaRoot('Entwürfe', names, { isUtf8 }).toString()
  assert.equal(roots(['', 'x']), '* QUOTAROOT Entw&APw-rfe "" "x"\r\n')
  assert.equal(roots([], true), '* QUOTAROOT "Entwürfe"\r\n')
})

test('INPROGRESS leaves out a tag that would end the code (RFC 9585 §4)', () => {
  assert.equal(inProgress('A.1'), 'INPROGRESS ("A.1" NIL NIL)')
  assert.equal(inProgress('A]1'), 'INPROGRESS (NIL NIL NIL)')
})

test('object identifiers and save dates (RFC 8474 §4, §5, RFC 8514 §4.2)', () => {
  assert.equal(mailboxId('F1'), 'MAILBOXID (F1)')
  const writer = new FetchWriter()
  writer.begin(1).emailId('M1').threadId('T2')
  writer.saveDate({ epochSeconds: 0, zoneMinutes: 0 }).end()
  assert.equal(
    taken(writer).toString(),
    '* 1 FETCH (EMAILID (M1) THREADID (T2) SAVEDATE " 1-Jan-1970 00:00:00 +0000")\r\n'
  )
})
