/** The search keys that a view answers from memory: for one message, and for a page of them wherever it begins. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { SelectedMailbox } from '../../../../src/imap/session/selected-mailbox.js'
import { MailboxView } from '../../../../src/store/mailbox-view.js'
import { NO, YES } from '../../../../src/store/search/verdict-page.js'
import { compileViewKey } from '../../../../src/store/search/view-keys.js'
import { searchKey } from '../../../helpers/search-key.js'

const UIDS = [2, 3, 5, 8, 9, 12, 20, 21]
const SEEN = 1
const WORD = 2

const view = new MailboxView({
  ...{ id: 1, name: 'INBOX', uidValidity: 1 },
  ...{ uidNext: 1, highestModSeq: 100 }
})
for (const uid of UIDS) view.append(uid, uid * 10, uid % 2 ? SEEN : 0, uid > 8 ? WORD : 0)
const selected = new SelectedMailbox({
  ...{ view, isReadOnly: false, origin: null },
  onChange: () => undefined
})
const findFlag = (/** @type {string} */ name) => {
  if (name === 'none') return null
  return name === 'word'
    ? { word: /** @type {const} */ ('keywords'), mask: WORD }
    : { word: /** @type {const} */ ('flags'), mask: SEEN }
}

/** @type {[string, number[]][]} UIDs */
const KEYS = [
  ['SEEN', [3, 5, 9, 21]],
  ['UNSEEN', [2, 8, 12, 20]],
  ['KEYWORD word', [9, 12, 20, 21]],
  ['UNKEYWORD word', [2, 3, 5, 8]],
  ['KEYWORD none', []],
  ['UNKEYWORD none', UIDS],
  ['UID 3:8', [3, 5, 8]],
  ['UID 1,4,6:7,10', []],
  ['UID 2,8:9,13:20,30', [2, 8, 9, 20]],
  ['UID 4:11,21:*', [5, 8, 9, 21]],
  ['UID 100:*', [21]],
  ['1', [2]],
  ['2:3,5,8', [3, 5, 9, 21]],
  ['7:100', [20, 21]],
  ['9:100', []],
  ['MODSEQ 90', [9, 12, 20, 21]],
  ['MODSEQ 91', [12, 20, 21]]
]

for (const [text, expected] of KEYS)
  test(`${text} says the same of a message in whatever page it is looked at`, () => {
    const key = compileViewKey(searchKey(text), { view, selected, findFlag, nowSeconds: 0 })
    const verdicts = UIDS.map((uid) => (expected.includes(uid) ? YES : NO))
    assert.deepEqual(
      UIDS.map((_, slot) => (key.test(slot) ? YES : NO)),
      verdicts
    )
    for (let first = 0; first < UIDS.length; first++)
      for (let end = first + 1; end <= UIDS.length; end++) {
        // The room of another page, or of another key of this one.
        const page = new Uint8Array(end - first).fill(YES)
        key.fill(first, page)
        assert.deepEqual([...page], verdicts.slice(first, end), `${first} to ${end}`)
      }
  })
