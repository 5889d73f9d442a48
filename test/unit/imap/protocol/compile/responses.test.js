import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { compileFlagList, compileFlags } from '../../../../../src/imap/protocol/compile/flags.js'
import { compileList } from '../../../../../src/imap/protocol/compile/list.js'
import * as code from '../../../../../src/imap/protocol/compile/response-code.js'
import {
  compileNumberList,
  PIECE_BYTES
} from '../../../../../src/imap/protocol/compile/number-list.js'
import { compileEsearch } from '../../../../../src/imap/protocol/compile/search.js'
import { compileStatus } from '../../../../../src/imap/protocol/compile/status.js'
import {
  continuation,
  tagged,
  untagged
} from '../../../../../src/imap/protocol/compile/status-response.js'
import { compileThread } from '../../../../../src/imap/protocol/compile/thread.js'
import { compileNumberSet } from '../../../../../src/imap/protocol/values/sequence-set.js'
import * as compile from '../../../../../src/imap/protocol/compile/untagged.js'
import { Containers } from '../../../../../src/store/threading/containers.js'

/**
 * @param {Buffer} bytes
 * @param {string} line
 */
const isLine = (bytes, line) => assert.equal(bytes.toString(), `${line}\r\n`)

test('status responses are one line, with a code or without', () => {
  isLine(tagged('a1', 'OK', null, 'Done'), 'a1 OK Done')
  isLine(
    tagged('a1', 'NO', code.CODE.tryCreate, 'No such mailbox'),
    'a1 NO [TRYCREATE] No such mailbox'
  )
  isLine(untagged('BYE', null, 'Bye'), '* BYE Bye')
  isLine(untagged('OK', code.uidNext(5), 'Next'), '* OK [UIDNEXT 5] Next')
  isLine(continuation(), '+ ')
  isLine(continuation('VXNlcm5hbWU6'), '+ VXNlcm5hbWU6')
})

test('no text can break the line', () => {
  isLine(tagged('a1', 'BAD', null, 'x\r\na2 OK y\0é'), 'a1 BAD x a2 OK y ')
  isLine(continuation('x\r\ny'), '+ x y')
})

test('response codes carry their values', () => {
  for (const [made, wire] of /** @type {[string, string][]} */ ([
    [code.appendUid({ uidValidity: 9, uids: [3, 4, 6] }), 'APPENDUID 9 3:4,6'],
    [code.copyUid({ uidValidity: 9, sourceSet: '1:2', set: '7:8' }), 'COPYUID 9 1:2 7:8'],
    [code.capability(['IMAP4rev1', 'IDLE']), 'CAPABILITY IMAP4rev1 IDLE'],
    [code.permanentFlags(['\\Seen', '\\*']), 'PERMANENTFLAGS (\\Seen \\*)'],
    [code.uidValidity(4294967295), 'UIDVALIDITY 4294967295'],
    [code.unseen(3), 'UNSEEN 3'],
    [code.highestModSeq(Number.MAX_SAFE_INTEGER), 'HIGHESTMODSEQ 9007199254740991'],
    [code.modified('7,9'), 'MODIFIED 7,9'],
    [code.CODE.readOnly, 'READ-ONLY']
  ]))
    assert.equal(made, wire)
  for (const word of Object.values(code.CODE)) assert.match(word, /^[A-Z-]+$/)
})

test('EXPUNGE: a line for each message, a thousand at a time', () => {
  assert.deepEqual([...compile.compileExpunges(new Uint32Array())], [])
  const pieces = [
    ...compile.compileExpunges(Uint32Array.from({ length: 1001 }, (_, index) => 2000 - index))
  ]
  assert.deepEqual(String(pieces[0]).split('\r\n').length, 1001)
  assert.ok(String(pieces[0]).startsWith('* 2000 EXPUNGE\r\n* 1999 EXPUNGE\r\n'))
  assert.deepEqual(String(pieces[1]), '* 1000 EXPUNGE\r\n')
})

test('untagged responses of one line', () => {
  isLine(compile.compileExists(3), '* 3 EXISTS')
  isLine(compile.compileRecent(0), '* 0 RECENT')
  isLine(compile.compileCapability(['A', 'B=C']), '* CAPABILITY A B=C')
  isLine(compile.compileEnabled(['UTF8=ACCEPT']), '* ENABLED UTF8=ACCEPT')
  isLine(compile.compileEnabled([]), '* ENABLED')
  isLine(compile.compileNamespace({ prefix: '', delimiter: '/' }), '* NAMESPACE (("" "/")) NIL NIL')
  isLine(compile.compileId([]), '* ID NIL')
  isLine(
    compile.compileId([
      ['name', 'x "y"'],
      ['version', null]
    ]),
    '* ID ("name" "x \\"y\\"" "version" NIL)'
  )
  isLine(compileFlags(['\\Seen', '$Junk']), '* FLAGS (\\Seen $Junk)')
  assert.equal(compileFlagList([]), '()')
})

test('LIST and LSUB name a mailbox with its attributes', () => {
  const entry = { name: 'Sent Items', attributes: ['\\HasNoChildren', '\\Sent'] }
  isLine(compileList(entry, { isUtf8: false }), '* LIST (\\HasNoChildren \\Sent) "/" "Sent Items"')
  isLine(
    compileList({ name: '', attributes: ['\\Noselect'] }, { isUtf8: false }),
    '* LIST (\\Noselect) "/" ""'
  )
  isLine(
    compileList({ name: 'ü', attributes: [] }, { isUtf8: false, response: 'LSUB' }),
    '* LSUB () "/" &APw-'
  )
  isLine(compileList({ name: 'ü', attributes: [] }, { isUtf8: true }), '* LIST () "/" "ü"')
  isLine(
    compileList({ name: 'a', attributes: [], childInfo: [] }, { isUtf8: true }),
    '* LIST () "/" a'
  )
  isLine(
    compileList(
      { name: 'a', attributes: [], childInfo: ['SUBSCRIBED', 'SPECIAL-USE'] },
      { isUtf8: true }
    ),
    '* LIST () "/" a (CHILDINFO ("SUBSCRIBED" "SPECIAL-USE"))'
  )
  isLine(
    compileList({ name: 'ü', attributes: [], oldName: 'u\u0308' }, { isUtf8: true }),
    '* LIST () "/" "ü" ("OLDNAME" ("u\u0308"))'
  )
})

test('STATUS names its items in the order asked for', () => {
  isLine(
    compileStatus(
      'INBOX',
      [
        ['UIDNEXT', 4],
        ['MESSAGES', 3]
      ],
      { isUtf8: false }
    ),
    '* STATUS INBOX (UIDNEXT 4 MESSAGES 3)'
  )
  isLine(compileStatus('ü', [], { isUtf8: false }), '* STATUS &APw- ()')
})

/**
 * @param {'SEARCH' | 'SORT'} name
 * @param {number[]} numbers
 * @param {number | null} [modSeq]
 */
const numberList = (name, numbers, modSeq = null) =>
  compileNumberList(name, numbers.length, (index) => numbers[index] ?? 0, { modSeq })

/**
 * @param {Iterable<Buffer>} pieces
 * @returns {Buffer}
 */
function whole(pieces) {
  const copies = []
  for (const piece of pieces) copies.push(Buffer.from(piece))
  return Buffer.concat(copies)
}

test('long answers are the same in pieces', () => {
  const numbers = Array.from({ length: 50_000 }, (_, index) => 3 * index)
  const pieces = Array.from(numberList('SEARCH', numbers, 7), (piece) => piece.length)
  assert.ok(pieces.length > 3)
  assert.ok(pieces.every((length) => length < PIECE_BYTES + 100))
  isLine(whole(numberList('SEARCH', numbers, 7)), `* SEARCH ${numbers.join(' ')} (MODSEQ 7)`)
  isLine(
    whole(compileEsearch({ tag: 'a', isUid: false, all: numbers, count: 1 })),
    `* ESEARCH (TAG "a") ALL ${numbers.join(',')} COUNT 1`
  )
  const containers = new Containers()
  const heads = numbers.map((slot) => containers.create(slot))
  isLine(
    whole(compileThread({ heads, containers }, (slot) => slot + 1)),
    `* THREAD ${numbers.map((slot) => `(${slot + 1})`).join('')}`
  )
})

test('a set in pieces names the numbers as a set that is made at once does', () => {
  const ascending = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1 })
  fc.assert(
    fc.property(ascending, (numbers) => {
      const sorted = numbers.toSorted((left, right) => left - right)
      const result = { tag: 'a', isUid: true, all: sorted }
      isLine(
        whole(compileEsearch(result)),
        `* ESEARCH (TAG "a") UID ALL ${compileNumberSet(sorted)}`
      )
    })
  )
})

test('SEARCH, SORT and ESEARCH hold what was found', () => {
  isLine(whole(numberList('SEARCH', [])), '* SEARCH')
  isLine(whole(numberList('SORT', [84, 2, 882])), '* SORT 84 2 882')
  isLine(whole(numberList('SEARCH', [2], 917162500)), '* SEARCH 2 (MODSEQ 917162500)')
  isLine(whole(compileEsearch({ tag: 'A1', isUid: false })), '* ESEARCH (TAG "A1")')
  isLine(
    whole(
      compileEsearch({
        tag: 'A1',
        isUid: true,
        min: 2,
        max: 47,
        all: [2, 3, 47],
        count: 3,
        modSeq: 9
      })
    ),
    '* ESEARCH (TAG "A1") UID MIN 2 MAX 47 ALL 2:3,47 COUNT 3 MODSEQ 9'
  )
  isLine(
    whole(compileEsearch({ tag: 'A1', isUid: false, all: [], count: 0, min: null })),
    '* ESEARCH (TAG "A1") COUNT 0'
  )
})
