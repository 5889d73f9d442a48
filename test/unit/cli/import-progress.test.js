import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import test from 'node:test'
import { MailError } from '../../../src/errors.js'
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
  assert.deepEqual(String(stdout.read()).split('\n'), [
    'mail?[2J.mbox: 40 %, 200 messages, 20/s, 15 s left',
    'mail?[2J.mbox: 80 %, 400 messages, 20/s, 5.0 s left',
    'imported 500, skipped 0 that were there, failed 0, in 25 s (20/s)',
    ''
  ])
  assert.deepEqual(String(stderr.read()).split('\n'), [
    'letterlock: mail.mbox: message 7 at byte 70: The message is larger than this server accepts',
    'letterlock: other: one line',
    'letterlock: a.tar: ?[2Jgone?.eml: The message is empty',
    ''
  ])
})
