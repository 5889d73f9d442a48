import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { foldCase } from '../../../../src/store/search/fold.js'
import { BatchTokens, TokenCollector } from '../../../../src/store/search/token-collector.js'
import { fit, gramsOf, isAskable, isWhole, runsOf } from '../../../../src/store/search/tokens.js'

/**
 * Indexes on disk hold these tokens: INDEX_VERSION goes with each change of them.
 *
 * @type {[string, string[], string[]][]}
 */
const TEXTS = [
  ['the meeting', ['the', ' ', 'meeting'], []],
  ['2024-11-02', ['2024', '-', '11', '02'], []],
  ['mp3 x1y2', ['mp3', ' '], ['x1y', '1y2']],
  ['日本 日本語で', ['日本', ' '], ['日本語', '本語で']],
  ['привет, öl', ['привет', ', ', 'öl'], []],
  ['a----------b', ['a', 'b'], ['---']],
  ['12345', [], ['123', '234', '345']],
  ['abcdefghijklmnopqrstuvwx', ['abcdefghijklmnopqrstuvwx'], []],
  ['abcdefghijklmnopqrstuvwxy', [], [...gramsOf('abcdefghijklmnopqrstuvwxy')]],
  ['äbcdefghijklmnopqrstuvwx', ['äbcdefghijklmnopqrstuvwx'], []],
  ['äbcdefghijklmnopqrstuvwxy', [], [...gramsOf('äbcdefghijklmnopqrstuvwxy')]],
  ['a--------b', ['a', '--------', 'b'], []],
  ['a---------b', ['a', 'b'], ['---']],
  ['𝟏𝟐𝟑 𝟏𝟐𝟑𝟒', ['𝟏𝟐𝟑', ' '], ['𝟏𝟐𝟑', '𝟐𝟑𝟒']],
  ['𠀀𠀁𠀂 𠀀𠀁𠀂𠀃', ['𠀀𠀁𠀂', ' '], ['𠀀𠀁𠀂', '𠀁𠀂𠀃']],
  ['one\ufffdtwo', ['one', 'two'], []],
  ['', [], []]
]

for (const [text, whole, grams] of TEXTS) {
  test(`the tokens of ${JSON.stringify(text)}`, () => {
    const tokens = collected([text])
    assert.deepEqual([...tokens.whole].sort(), [...new Set(whole)].sort())
    assert.deepEqual([...tokens.grams].sort(), [...new Set(grams)].sort())
  })
}

/**
 * @param {string[]} pieces
 * @param {BatchTokens} [batch]
 * @returns {{ whole: Set<string>, grams: Set<string> }}
 */
function collected(pieces, batch = new BatchTokens()) {
  const tokens = new TokenCollector(batch)
  pieces.forEach((piece, index) => tokens.add(piece, index > 0))
  tokens.end()
  const whole = tokens.whole.map((token) => batch.whole.textOf(token))
  const grams = tokens.grams.map((token) => batch.grams.textOf(token))
  assert.equal(tokens.size, new Set(whole).size + new Set(grams).size)
  return { whole: new Set(whole), grams: new Set(grams) }
}

const UNITS = [...'ab c,.-1', 'é', '漢', '字', '😀', '\ufffd', '\n', 'abcdefghijklm']
const text = fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 60 }).map(foldCase)

test('the tokens are the same however a text is cut', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), (pieces) => {
      const whole = collected([pieces.join('')])
      const cut = collected(pieces)
      assert.deepEqual(cut, whole)
    }),
    { numRuns: 500 }
  )
})

test('a text that does not go on where the one before has ended goes on with none of its runs', () => {
  const batch = new BatchTokens()
  const tokens = new TokenCollector(batch)
  for (const part of ['the end', 'begins', '2024']) tokens.add(part, false)
  tokens.end()
  assert.deepEqual(
    tokens.whole.map((token) => batch.whole.textOf(token)),
    ['the', ' ', 'end', 'begins', '2024']
  )
})

for (const [what, first, count] of /** @type {const} */ ([
  ['', 0x61, 26],
  [' of 16 bits', 0x4e00, 20_000],
  [' beyond 16 bits', 0x20000, 40_000]
]))
  test(`a run of any length is taken in pieces, and each of its trigrams with it: letters${what}`, () => {
    // Also one of which so little is left at last that it would be a token by itself.
    for (const length of [30_000, 5985, 4988]) {
      const letters = Array.from({ length }, (_, nth) =>
        String.fromCodePoint(first + (nth % count))
      )
      const run = letters.join('')
      const pieces = run.match(/.{1,997}/gu) ?? []
      assert.deepEqual(collected(pieces), { whole: new Set(), grams: gramsOf(run) })
    }
  })

test('the texts of a batch have the tokens that the rules give, whatever is in them', () => {
  const any = fc.oneof(
    text,
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({ unit: 'binary-ascii', maxLength: 200 }),
    fc
      .array(
        fc.constantFrom('слово', 'Ωμέγα', 'ไทย', 'नमस्ते', '２０２６', '٣٤٥٦٧', '𝟙𝟚', '—', ' ', 'ab1')
      )
      .map((words) => words.join(''))
  )
  fc.assert(
    fc.property(fc.array(any, { maxLength: 8 }), (texts) => {
      const batch = new BatchTokens()
      for (const each of texts) {
        const folded = fit(foldCase(each))
        const whole = new Set()
        const grams = new Set()
        // Of a text between two others no run is open.
        for (const { text: run } of runsOf(folded))
          if (isWhole(run)) whole.add(run)
          else for (const gram of gramsOf(run)) grams.add(gram)
        assert.deepEqual(collected([folded], batch), { whole, grams })
      }
    }),
    { numRuns: 2000 }
  )
})

test('a text that contains a term has its runs', () => {
  fc.assert(
    fc.property(text, fc.nat(), fc.integer({ min: 1, max: 12 }), (whole, place, length) => {
      const letters = [...fit(whole)]
      const start = place % (letters.length || 1)
      const term = letters.slice(start, start + length).join('')
      fc.pre(isAskable(term))
      const tokens = collected([fit(whole)])
      for (const { text: run, isOpenLeft, isOpenRight } of runsOf(term)) {
        const isInWhole = [...tokens.whole].some((token) => {
          const at = isOpenLeft ? token.lastIndexOf(run) : token.indexOf(run)
          if (at === -1) return false
          if (isOpenLeft && isOpenRight) return true
          return isOpenLeft
            ? token.endsWith(run)
            : isOpenRight
              ? token.startsWith(run)
              : token === run
        })
        const grams = [...gramsOf(run)]
        const isInLong =
          grams.length > 0
            ? grams.every((gram) => tokens.grams.has(gram))
            : [...tokens.grams].some((gram) => gram.includes(run))
        assert.ok(isInWhole || isInLong, `${JSON.stringify(run)} of ${JSON.stringify(whole)}`)
        if (!isOpenLeft && !isOpenRight) assert.equal(isInWhole, isWhole(run))
      }
    }),
    { numRuns: 2000 }
  )
})
