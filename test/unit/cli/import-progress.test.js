import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import test from 'node:test'
import { MailError } from '../../../src/errors.js'
import { ImapImportProgress, sourceReason } from '../../../src/cli/imap-import-progress.js'
import { ImportProgress } from '../../../src/cli/import-progress.js'

/** @typedef {import('../../../src/import/import-item.js').ImportSource} ImportSource */

/** @type {ImportSource} */
const SOURCE = {
  name: 'mail.mbox',
  format: 'mbox',
  unit: 'bytes',
  total: 1000,
  position: 0,
  ignoredCount: 0,
  async *items() {}
}

/**
 * @param {PassThrough} stream
 * @returns {string} all that was written into it; Node 26 gives it back write by write
 */
function written(stream) {
  let all = ''
  for (let piece = stream.read(); piece !== null; piece = stream.read()) all += String(piece)
  return all
}

test('without a terminal there is a line every ten seconds, with share, rate and time left', () => {
  let nowMs = 0
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const progress = new ImportProgress({ stdout, stderr, clock: { nowMs: () => nowMs } })
  const source = { ...SOURCE, name: 'mail\u001b[2J.mbox' }
  const summary = { imported: 0, skipped: 0, failed: 0 }
  progress.start(source, summary)
  for (let step = 1; step <= 100; step++) {
    nowMs += 250
    source.position += 10
    summary.imported += 5
    progress.update(source, summary)
  }
  progress.fail({ name: 'mail.mbox: message 7 at byte 70', error: new MailError('TOO_BIG') })
  progress.fail({ name: 'other', error: new Error('one line\nand another') })
  progress.fail({ name: 'a.tar: \u001b[2Jgone\n.eml', error: new MailError('MESSAGE_EMPTY') })
  progress.end([source], summary)
  assert.deepEqual(written(stdout).split('\n'), [
    'mail?[2J.mbox: 40 %, 200 messages, 20/s, 15 s left',
    'mail?[2J.mbox: 80 %, 400 messages, 20/s, 5.0 s left',
    'imported 500, skipped 0 that were there, failed 0, in 25 s (20/s)',
    ''
  ])
  assert.deepEqual(written(stderr).split('\n'), [
    'letterlock: mail.mbox: message 7 at byte 70: The message is larger than this server accepts',
    'letterlock: other: one line',
    'letterlock: a.tar: ?[2Jgone?.eml: The message is empty',
    ''
  ])
})

test('of a copy from a server too, where what was there before does not count for the rate', () => {
  let nowMs = 0
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const progress = new ImapImportProgress({ stdout, stderr, clock: { nowMs: () => nowMs } })
  const { onPlan, onProgress, onFolder, onFailure, onEmptyExclude } = progress.observer
  const planned = { use: null, isSubscribed: true }
  onEmptyExclude?.('Jnuk\u001b[2J')
  onPlan?.([
    { ...planned, path: 'INBOX', mailbox: 'INBOX', messages: 400 },
    { ...planned, path: 'Work', mailbox: 'Work', messages: 100 }
  ])
  for (let done = 100; done <= 400; done += 5) {
    onProgress?.('INBOX', { done, total: 400 })
    nowMs += 250
  }
  const counts = { copied: 300, skipped: 100, flagged: 1, expunged: 2, kept: 3, failed: 2 }
  onFolder?.('INBOX', { ...counts, keepsUids: true })
  const refused = Object.assign(new Error('Command failed'), { responseText: 'no\u001b[2J\nmore' })
  onFailure?.({ mailbox: 'INBOX', uid: 7, error: refused })
  onFailure?.({ mailbox: 'Work', uid: null, error: new MailError('CANNOT') })
  nowMs = 15_000
  progress.end({ ...counts, folders: 2, foldersWithUids: 1 })
  assert.deepEqual(written(stdout).split('\n'), [
    '--exclude Jnuk?[2J: the source has no such folder',
    'INBOX: 300 of 400, 20/s, 5.0 s left; all folders: 300 of 500, 20/s, 10 s left',
    'copied 300, there already 100, flags changed 1, deleted 2, failed 2, in 15 s (20/s)',
    '2 folders, 1 with the UIDs of the source: mail programs keep what they have of these',
    '3 messages are gone at the source, and left here (see --expunge)',
    ''
  ])
  assert.deepEqual(written(stderr).split('\n'), [
    'letterlock: INBOX: UID 7: the source says: no?[2J',
    `letterlock: Work: ${new MailError('CANNOT').message}`,
    ''
  ])
})

test('what keeps a copy from the source is said in a line, with what to do about it', () => {
  for (const [fields, reason] of /** @type {[object, RegExp][]} */ ([
    [{ authenticationFailed: true, responseText: 'no' }, /^the source refused the login$/],
    [{ code: 'ECONNREFUSED' }, /^the source cannot be reached \(ECONNREFUSED\)$/],
    [{ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, /write imap:\/\/ instead/],
    [{ code: 'ERR_SSL_UNSUPPORTED_PROTOCOL' }, /^TLS with the source fails \(ERR_SSL_UNS/],
    [{ code: 'CERT_HAS_EXPIRED' }, /^one line$/],
    ...[
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
    ].map((code) => [{ code }, new RegExp(`\\(${code}\\)\\. .* --ca FILE$`)])
  ]))
    assert.match(sourceReason(Object.assign(new Error('one line\nand another'), fields)), reason)
})
