import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FetchWriter } from '../../../../src/imap/protocol/compile/fetch.js'
import { writeFlagLines } from '../../../../src/imap/session/flag-lines.js'
import { SelectedMailbox } from '../../../../src/imap/session/selected-mailbox.js'
import { KeywordTable, SEEN } from '../../../../src/store/flags.js'
import { MailboxView } from '../../../../src/store/mailbox-view.js'
import { taken } from '../../../helpers/fetch-writer.js'

const MAILBOX = { id: 1, name: 'INBOX', uidValidity: 1, uidNext: 1, highestModSeq: 1 }
const NAMES = [
  { flags: 0, keywords: 0, text: '' },
  { flags: SEEN, keywords: 0, text: '\\Seen' },
  { flags: SEEN | 32, keywords: 0, text: '\\Seen $Junk' },
  { flags: 0, keywords: 1, text: 'late' }
]

/** @returns {KeywordTable} with one keyword in each of the two words */
function keywordTable() {
  const keywords = new KeywordTable()
  keywords.load([
    { number: 0, name: '$Junk' },
    { number: 27, name: 'late' }
  ])
  return keywords
}

/**
 * @typedef {object} Message
 * @property {number} kind - index in NAMES
 * @property {boolean} isGone - expunged before the mailbox was selected, so that a later one's number is not its place
 * @property {number} gap - UIDs that are missing before it
 */

/**
 * @param {readonly Message[]} messages
 * @returns {MailboxView}
 */
function viewOf(messages) {
  const view = new MailboxView(MAILBOX)
  let uid = 0
  for (const [index, { kind, gap }] of messages.entries()) {
    const { flags, keywords } = NAMES[kind] ?? { flags: 0, keywords: 0 }
    view.append((uid += 1 + gap), index + 1, flags, keywords)
  }
  // Somebody else who has not heard of the expunges: the view may not drop them.
  view.attach(() => {}).setBusy(true)
  for (const [slot, { isGone }] of messages.entries()) if (isGone) view.bury(slot)
  return view
}

test('lines of flags tell what the client sees, in as many steps as they take', () => {
  const message = fc.record({
    kind: fc.nat(NAMES.length - 1),
    isGone: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.boolean()),
    gap: fc.nat(2)
  })
  const property = fc.property(
    fc.array(message, { maxLength: 40 }),
    fc.record({ withUid: fc.boolean(), withFlags: fc.boolean(), withModSeq: fc.boolean() }),
    fc.record({ recentFrom: fc.nat(80), seenUid: fc.nat(80), isFresh: fc.boolean() }),
    fc.integer({ min: 1, max: 400 }),
    (messages, line, { recentFrom, seenUid, isFresh }, enoughBytes) => {
      const view = viewOf(messages)
      const selected = new SelectedMailbox({
        view,
        isReadOnly: false,
        origin: null,
        onChange: () => {}
      })
      if (!isFresh) {
        selected.recent.add(recentFrom, 1000)
        selected.noteSeen([seenUid], view.highestModSeq + 1)
      }
      const living = [...messages.keys()].filter((slot) => messages[slot]?.isGone === false)
      const expected = living.map((slot, index) => {
        const uid = view.uids[slot] ?? 0
        const flags = (NAMES[messages[slot]?.kind ?? 0]?.text ?? '').split(' ').filter(Boolean)
        if (!isFresh && uid === seenUid && !flags.includes('\\Seen')) flags.unshift('\\Seen')
        if (!isFresh && uid >= recentFrom) flags.push('\\Recent')
        const items = [
          ...(line.withUid ? [`UID ${uid}`] : []),
          ...(line.withFlags ? [`FLAGS (${flags.join(' ')})`] : []),
          ...(line.withModSeq ? [`MODSEQ (${slot + 1})`] : [])
        ]
        return `* ${index + 1} FETCH (${items.join(' ')})\r\n`
      })

      const writer = new FetchWriter()
      const options = { selected, keywords: keywordTable(), line, writer, enoughBytes }
      let written = ''
      for (let next = 0; next < living.length;) {
        const start = next
        next = writeFlagLines(options, living, start)
        const step = taken(writer).toString('latin1')
        const lines = step.split('\r\n').slice(0, -1)
        assert.equal(lines.length, next - start, 'as many lines as slots')
        assert.ok(step.length >= enoughBytes || next === living.length, 'enough, or the end')
        assert.ok(step.length - (lines.at(-1)?.length ?? 0) - 2 < enoughBytes, 'no line too many')
        written += step
      }
      assert.equal(written, expected.join(''))
    }
  )
  fc.assert(property)
})
