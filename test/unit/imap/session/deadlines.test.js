import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../../src/imap/session/deadlines.js'

const OPENED_AT_MS = 1_000
const LIMITS = { loginTimeoutMs: 60_000, inactivityTimeoutMs: 1_800_000 }
const LAST_WORDS_MS = 10_000

test('a stranger is sent away when the time for a login is over, and cut off when it does not go', () => {
  const deadlines = new Deadlines(LIMITS, OPENED_AT_MS)
  for (const nowMs of [OPENED_AT_MS, 50_000]) assert.equal(deadlines.ofSilence(nowMs), 61_000)
  assert.equal(deadlines.isOver(61_000 + LAST_WORDS_MS), false)
  assert.equal(deadlines.isOver(61_001 + LAST_WORDS_MS), true)
})

test('who has logged in is sent away after a silence, and not cut off by the clock', () => {
  const deadlines = new Deadlines(LIMITS, OPENED_AT_MS)
  deadlines.noteLogin()
  assert.equal(deadlines.ofSilence(500_000), 2_300_000)
  assert.equal(deadlines.isOver(Number.MAX_SAFE_INTEGER), false)
})

test('who was told to go is cut off at the first of the times that were named', () => {
  const deadlines = new Deadlines(LIMITS, OPENED_AT_MS)
  deadlines.noteLogin()
  for (const atMs of [Infinity, 9_000, 20_000]) deadlines.cutAt(atMs)
  assert.equal(deadlines.isOver(9_000), false)
  assert.equal(deadlines.isOver(9_001), true)
})
