import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { FetchWriter } from '../../../../src/imap/protocol/compile/fetch.js'
import { writeFlagLines } from '../../../../src/imap/session/flag-lines.js'
import { SelectedMailbox } from '../../../../src/imap/session/selected-mailbox.js'
import { warmUp } from '../../../../src/imap/session/warm-up.js'
import { KeywordTable } from '../../../../src/store/flags.js'
import { MailboxView } from '../../../../src/store/mailbox-view.js'

/** Of what V8 says of a function: it runs compiled code (src/runtime/runtime.h, OptimizationStatus). */
const OPTIMIZED = 1 << 4

test(
  'what reads and lists a large mailbox is compiled before the first client comes, and stays so when it does',
  { skip: process.env['NODE_V8_COVERAGE'] ? 'what counts calls is not compiled so' : false },
  async () => {
    setFlagsFromString('--allow-natives-syntax')
    const statusOf = runInThisContext('(f) => %GetOptimizationStatus(f)')
    const isCompiled = (/** @type {Function} */ f) => (statusOf(f) & OPTIMIZED) !== 0
    const loops = [FetchWriter.prototype.flagLine, MailboxView.prototype.append]
    const compiled = [true, true]
    assert.deepEqual(loops.map(isCompiled), [false, false])
    await warmUp()
    // Another thread compiles, and may not be through.
    for (let wait = 0; wait < 1000 && !loops.every(isCompiled); wait++) await sleep(5)
    assert.deepEqual(loops.map(isCompiled), compiled)

    for (const withRecent of [false, true]) {
      assert.match(listed(withRecent), LINES)
      assert.deepEqual(loops.map(isCompiled), compiled)
    }
  }
)

const LINES = /^(\* \d+ FETCH \(UID \d+ FLAGS \([^)]*\) MODSEQ \(\d+\)\)\r\n){200}$/

/**
 * @param {boolean} withRecent
 * @returns {string} the flags of 200 messages, in an account of its own
 */
function listed(withRecent) {
  const view = new MailboxView({
    id: 7,
    name: 'Work',
    uidValidity: 5,
    uidNext: 1,
    highestModSeq: 1,
    messageCount: 200
  })
  // As it is opened: what is known of the mailbox is read once more before its messages are.
  view.uidNext = 201
  view.highestModSeq = 201
  for (let uid = 1; uid <= 200; uid++) view.append(uid, uid, uid % 32, 0)
  const selected = new SelectedMailbox({
    view,
    isReadOnly: false,
    origin: null,
    onChange: () => {}
  })
  if (withRecent) selected.recent.add(150, 201)
  const writer = new FetchWriter()
  const keywords = new KeywordTable()
  const line = { withUid: true, withFlags: true, withModSeq: true }
  const slots = Array.from({ length: 200 }, (_, slot) => slot)
  writeFlagLines({ selected, keywords, line, writer, enoughBytes: Infinity }, slots, 0)
  let text = ''
  writer.handTo((bytes) => {
    text = bytes.toString()
  })
  return text
}
