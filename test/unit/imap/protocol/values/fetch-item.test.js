import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseSection, sectionLabel } from '../../../../../src/imap/protocol/values/fetch-item.js'
import { failure } from '../../../../helpers/imap-wire.js'

test('sections are read and labelled, RFC 9051 §6.4.5.1', () => {
  for (const [
    spec,
    fields,
    path,
    text,
    label
  ] of /** @type {[string, string[] | null, number[], string | null, string][]} */ ([
    ['', null, [], null, 'BODY[]'],
    ['header', null, [], 'HEADER', 'BODY[HEADER]'],
    ['TEXT', null, [], 'TEXT', 'BODY[TEXT]'],
    ['1', null, [1], null, 'BODY[1]'],
    ['1.2.3', null, [1, 2, 3], null, 'BODY[1.2.3]'],
    ['10.mime', null, [10], 'MIME', 'BODY[10.MIME]'],
    ['2.TEXT', null, [2], 'TEXT', 'BODY[2.TEXT]'],
    ['4294967295', null, [4294967295], null, 'BODY[4294967295]'],
    ['header.fields', ['From', 'tO'], [], 'HEADER.FIELDS', 'BODY[HEADER.FIELDS (FROM TO)]'],
    [
      '1.HEADER.FIELDS.NOT',
      ['a b', 'x"y', 'nil'],
      [1],
      'HEADER.FIELDS.NOT',
      'BODY[1.HEADER.FIELDS.NOT ("A B" "X\\"Y" "NIL")]'
    ]
  ])) {
    const section = parseSection(spec, fields)
    assert.deepEqual(section, { path, text, fields: fields ?? [] }, spec)
    assert.equal(sectionLabel(section), label)
  }
})

test('what is no section is refused', () => {
  for (const [spec, fields] of /** @type {[string, string[] | null][]} */ ([
    ['0', null],
    ['1.0', null],
    ['4294967296', null],
    ['1.', null],
    ['.1', null],
    ['1..2', null],
    ['1.FOO', null],
    ['1TEXT', null],
    ['1.TEXT.2', null],
    ['MIME', null],
    ['HEADER.FIELDS', null],
    ['HEADER.FIELDS.NOT', null],
    ['HEADER', ['x']],
    ['', ['x']],
    ['HEADERS', null],
    ['HEADER.FIELDS.NOTS', ['x']],
    [' TEXT', null]
  ]))
    assert.throws(() => parseSection(spec, fields), failure('BAD_SYNTAX'), spec)
})
