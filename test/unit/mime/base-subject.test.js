import { test } from 'node:test'
import assert from 'node:assert/strict'
import { baseSubject, isReplyOrForward } from '../../../src/mime/base-subject.js'

/** @type {[string, string][]} */
const SUBJECTS = [
  ['hello', 'hello'],
  ['  hello \t world  ', 'hello world'],
  ['Re: hello', 'hello'],
  ['RE :hello', 'hello'],
  ['re[2]: hello', 'hello'],
  ['Re: Fw: FWD: hello', 'hello'],
  ['hello (fwd) (FWD) ', 'hello'],
  ['[list] hello', 'hello'],
  ['[list] Re: [list] hello', 'hello'],
  ['Re: [a] [b] hello', 'hello'],
  ['[list]', '[list]'],
  ['Re: [list]', '[list]'],
  ['[a] Re: [b] [c] fwd[d]: [e] [f] Re hello', 'Re hello'],
  ['[] [a]Re: [][]', '[]'],
  ['[Fwd: hello]', 'hello'],
  ['[Fwd: Re: [x] hello (fwd)] (fwd)', 'hello'],
  ['[Fwd: [Fwd: hello]]', 'hello'],
  ['tea [fwd: hello]', 'tea [fwd: hello]'],
  ['Reply: hello', 'Reply: hello'],
  ['Forward: x', 'Forward: x'],
  ['fwhello', 'fwhello'],
  ['Re:', ''],
  ['(fwd)', ''],
  ['', '']
]

for (const [subject, expected] of SUBJECTS)
  test(`base subject of ${JSON.stringify(subject)}`, () =>
    assert.equal(baseSubject(subject), expected))

test('a subject is that of a reply or forward where its base leaves out a mark of one', () => {
  for (const marked of [
    'Re: a',
    'a (fwd)',
    'a (FWD)',
    '[Fwd: a]',
    '[x] [fwd: a]',
    '[x] re[2]: a',
    '[fwd: [x] a]'
  ])
    assert.equal(isReplyOrForward(marked), true, marked)
  // In front of something, `[fwd: a]` goes as the name of a list does.
  for (const bare of [
    'a',
    '[x] a',
    '[fwd: a] [x]',
    '[fwd: a] b]',
    '[fwd: a',
    'a re: b',
    'a (fwd) b'
  ])
    assert.equal(isReplyOrForward(bare), false, bare)
})

test('a hostile subject ends', () => {
  for (const piece of ['[a]', '[]', 'Re: ', '[fwd:', '[', '(fwd)', ' ', '[a] Re: ']) {
    baseSubject(piece.repeat(100_000))
    isReplyOrForward(piece.repeat(100_000))
  }
})
