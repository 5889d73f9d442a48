import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { FetchWriter } from '../../../../src/imap/protocol/compile/fetch.js'
import { warmUp } from '../../../../src/imap/session/warm-up.js'
import { MailboxView } from '../../../../src/store/mailbox-view.js'

/** Of what V8 says of a function: it runs compiled code (src/runtime/runtime.h, OptimizationStatus). */
const OPTIMIZED = 1 << 4

test(
  'what reads and lists a large mailbox is compiled before the first client comes',
  { skip: process.env['NODE_V8_COVERAGE'] ? 'what counts calls is not compiled so' : false },
  async () => {
    setFlagsFromString('--allow-natives-syntax')
    const statusOf = runInThisContext('(f) => %GetOptimizationStatus(f)')
    const isCompiled = (/** @type {Function} */ f) => (statusOf(f) & OPTIMIZED) !== 0
    const loops = [FetchWriter.prototype.flagLine, MailboxView.prototype.append]
    assert.deepEqual(loops.map(isCompiled), [false, false])
    await warmUp()
    // Another thread compiles, and may not be through.
    for (let wait = 0; wait < 1000 && !loops.every(isCompiled); wait++) await sleep(5)
    assert.deepEqual(loops.map(isCompiled), [true, true])
  }
)
