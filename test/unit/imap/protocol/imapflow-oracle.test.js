/**
 * Our tokenizer against imapflow's parser, where that one is right: atoms, quoted strings, nested lists and literals of
 * a command line. (It reads a server's lines, so sections and sets are left out here.)
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parser } from 'imapflow/lib/handler/imap-handler.js'
import { receive, sketch } from '../../../helpers/imap-wire.js'

const atom = fc
  .stringMatching(/^[A-Za-z0-9$.=_-]{1,10}$/)
  // imapflow turns NIL into null.
  .filter((text) => text.toUpperCase() !== 'NIL')
const quoted = fc.string({ unit: 'grapheme-ascii', maxLength: 10 })
const literal = fc.string({ unit: 'grapheme-ascii', maxLength: 10 })

const { argument } = fc.letrec((/** @type {fc.LetrecLooselyTypedTie} */ tie) => ({
  argument: fc.oneof(
    { maxDepth: 5, depthIdentifier: 'list' },
    atom.map((text) => ({ wire: text, value: text })),
    quoted.map((text) => ({
      wire: `"${text.replace(/["\\]/g, '\\$&')}"`,
      value: `s:${text}`
    })),
    fc.tuple(literal, fc.constantFrom('', '+')).map(([text, plus]) => ({
      wire: `{${text.length}${plus}}\r\n${text}`,
      value: `s:${text}`
    })),
    tie('list')
  ),
  list: fc
    .array(tie('argument'), { maxLength: 4, depthIdentifier: 'list' })
    .map((/** @type {any[]} */ items) => ({
      wire: `(${items.map(({ wire }) => wire).join(' ')})`,
      value: items.map(({ value }) => value)
    }))
}))

/**
 * @param {any[]} attributes - imapflow's tokens
 * @returns {any[]} in the form of `sketch`
 */
function sketchTheirs(attributes) {
  return attributes.map((attribute) => {
    if (Array.isArray(attribute)) return sketchTheirs(attribute)
    if (attribute.type === 'ATOM') return attribute.value
    return `s:${attribute.value}`
  })
}

test('commands have the tokens that imapflow finds, and those that they were made of', async () => {
  const property = fc.asyncProperty(
    fc.array(/** @type {fc.Arbitrary<any>} */ (argument), { minLength: 1, maxLength: 5 }),
    async (args) => {
      const wire = `A1 XTEST ${args.map(({ wire }) => wire).join(' ')}`
      const event = receive(`${wire}\r\n`).at(-1)
      assert.ok(event?.kind === 'command')
      const ours = sketch(event.command.tokens)
      assert.deepEqual(
        ours,
        args.map(({ value }) => value)
      )
      const theirs = await parser(wire, { literalPlus: true })
      assert.equal(theirs.tag, 'A1')
      assert.equal(theirs.command, 'XTEST')
      assert.deepEqual(sketchTheirs(theirs.attributes ?? []), ours)
    }
  )
  await fc.assert(property, { numRuns: 300 })
})
