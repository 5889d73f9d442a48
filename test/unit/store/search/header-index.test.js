import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { askIndex } from '../../../../src/store/search/index-answers.js'
import { planSearch } from '../../../../src/store/search/plan.js'
import { systemClock as clock } from '../../../../src/support/clock.js'
import { rawHandle } from '../../../helpers/account-folder.js'
import { matchesByScan, readWhole } from '../../../helpers/search-oracle.js'
import { selectIn } from '../../../helpers/selected.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/** Up to 1,024 headers are looked at without the index. */
const MESSAGES = 1300

/** Headers as they should not be, and mentions of a field in another; each stands many times, with other numbers. */
const HEADERS = [
  'Message-ID: <N.2a@mail.example>\r\nX-Foo: bar N\r\n',
  'message-id:<CAF=xN_Y@mail.EXAMPLE.com>\r\nX-FOO: BAZ\r\nX-Foo: second N\r\n',
  'Message-ID:\r\n <folded-N@\r\n\tmail.example>\r\nX-Foo-Bar: bar N\r\n',
  'Message-ID: =?utf-8?Q?=3Cenc=C3=A9-N=40mail.example=3E?=\r\nSubject: X-Foo: bar N\r\n',
  'Message-ID: <one.N@mail.example>\r\nMessage-ID: <two.N@mail.example>\r\nX-Foo :bar\r\n',
  'Message-ID:\r\nX-Foo:\r\nReferences: <N.2a@mail.example>\r\n',
  `Message-ID: <${'long-N.'.repeat(60)}@mail.example>\r\nX-Bar: see x-foo: bar\r\n`,
  `${'Message-ID: <many.N@mail.example>\r\n'.repeat(12)}List-Id: Talk <talk.N.example>\r\n`,
  'Message-ID: <\xe9\xe8-N@mail.example>\r\nX-Foo-: bar N\r\n',
  'Message-ID: <nul\0-N@mail.example>\r\nX_Foo: bar\r\nXFoo: bar N\r\n',
  'Message-ID: \xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 N\r\nX-Fo: o: bar\r\n',
  'Subject: no id N\r\nIn-Reply-To: <N.2a@mail.example>\r\nX-Foo: =?utf-8?B?YsOkcg==?=\r\n'
]

const FIELDS = [
  ...['Message-ID', 'message-id', 'MESSAGE-Id', 'X-Foo', 'x-foo', 'X-Foo-', 'X-Foo-Bar', 'X_Foo'],
  ...[
    'XFoo',
    'X-Fo',
    'foo',
    'X-Bar',
    'List-Id',
    'References',
    'In-Reply-To',
    'Date',
    'X',
    'Ünlisted'
  ]
]

const TERMS = [
  ...[
    '',
    '<',
    '>',
    '<1',
    '1',
    '.2a@',
    '@mail.example',
    'MAIL.example>',
    '<CAF=x',
    'cafÉ',
    'é',
    '\0'
  ],
  ...[
    '<folded-7@',
    '@ mail',
    '@\tmail',
    'encé-',
    '<one.',
    '<two.',
    'long-',
    'many.',
    'nul',
    'привет'
  ],
  ...['bar', 'BAR 1', 'baz', 'second', 'bär', 'o: bar', 'x-foo', ': ', ' ', 'nowhere', '\ufffd']
]

/**
 * @param {number} index
 * @returns {Buffer}
 */
function mailOf(index) {
  const header = HEADERS[index % HEADERS.length] ?? ''
  const text = `From: a@mail.example\r\n${header.replaceAll('N', String(index * 7))}\r\nbody ${index}\r\n`
  return Buffer.from(text, 'latin1')
}

test('any field of odd headers is found by any piece of it or by its presence, with and without the index', async (t) => {
  const mails = Array.from({ length: MESSAGES }, (_, index) => ({ bytes: mailOf(index) }))
  const known = mails.map(({ bytes }) => ({ ...readWhole(bytes), size: bytes.length }))
  const piece = fc
    .tuple(fc.nat({ max: MESSAGES - 1 }), fc.constantFrom(...FIELDS), fc.nat(), fc.nat({ max: 30 }))
    .map(([which, field, start, length]) => {
      const [value = ''] = known[which]?.field(field) ?? []
      const letters = [...value]
      const from = start % (letters.length || 1)
      return { field, value: letters.slice(from, from + length).join('') }
    })
  const usual = fc.record({
    field: fc.constantFrom(...FIELDS),
    value: fc.constantFrom(...TERMS)
  })
  const keys = fc
    .tuple(fc.oneof(piece, usual), fc.boolean())
    .map(([{ field, value }, isNegated]) => {
      const key = /** @type {SearchKey} */ ({ op: 'header', field, value })
      return isNegated ? /** @type {SearchKey} */ ({ op: 'not', key }) : key
    })
  const store = await temporaryStore(t)
  await appendAll(store, 'INBOX', mails.slice(0, MESSAGES / 2))
  await store.indexSearch()
  await appendAll(store, 'INBOX', mails.slice(MESSAGES / 2))
  const find = await searcher(store)
  const property = fc.asyncProperty(keys, async (key) => {
    const expected = known.flatMap((message, slot) => (matchesByScan(key, message) ? [slot] : []))
    assert.deepEqual(await find(key), expected, JSON.stringify(key))
  })
  await t.test('half', () => fc.assert(property, { numRuns: 60 }))
  await store.indexSearch()
  await t.test('whole', () => fc.assert(property, { numRuns: 150 }))
  await t.test(
    'each of the terms in each of the fields, by what the index itself says',
    async () => {
      const contents = await contentsOf(store)
      for (const field of FIELDS)
        for (const value of TERMS) {
          const key = /** @type {SearchKey} */ ({ op: 'header', field, value })
          await checkAnswer(store, key, (contentId) =>
            matchesByScan(key, /** @type {any} */ (known[contents.indexOf(contentId)]))
          )
        }
    }
  )
})

test('fields of a header whose lines end by CR are told apart, before and after they are listed', async (t) => {
  const lines = ['From: anna@mail.example', 'Subject: qz needle', 'List-Id: <abc>', '', 'body', '']
  const store = await temporaryStore(t)
  await appendAll(store, 'INBOX', [{ bytes: Buffer.from(lines.join('\r')) }])
  const find = await searcher(store)
  /**
   * @param {string} field
   * @param {string} value
   */
  const header = (field, value) => /** @type {SearchKey} */ ({ op: 'header', field, value })
  const either = (/** @type {SearchKey} */ left, /** @type {SearchKey} */ right) =>
    /** @type {SearchKey} */ ({ op: 'or', left, right })
  const questions = /** @type {[SearchKey, number[]][]} */ ([
    [either(header('from', 'xx'), header('subject', 'qz')), [0]],
    [either(header('from', 'needle'), header('subject', 'anna')), []],
    [either(header('cc', ''), header('list-id', 'abc')), [0]]
  ])
  for (const [key, expected] of questions) assert.deepEqual(await find(key), expected)
  await store.indexSearch()
  for (const [key, expected] of questions) assert.deepEqual(await find(key), expected)
})

/**
 * @param {AccountStore} store
 * @returns {Promise<(key: SearchKey) => Promise<number[]>>} gives slots
 */
async function searcher(store) {
  const { view, selected } = await selectIn(store)
  return (key) => searchMessages({ store, view, selected, key, clock })
}

/**
 * @param {AccountStore} store
 * @returns {Promise<number[]>} content ids in the order of UIDs
 */
const contentsOf = (store) =>
  store.searchAccess.database.readSettled(
    (db) =>
      /** @type {number[]} */ (
        db.prepare('SELECT content_id FROM messages ORDER BY id').pluck().all()
      )
  )

/**
 * @param {AccountStore} store
 * @param {SearchKey} key - a leaf
 * @param {(contentId: number) => boolean} matches
 */
async function checkAnswer(store, key, matches) {
  const plan = planSearch(key)
  const [leaf] = plan.leaves
  assert.ok(leaf)
  const asked = await askIndex(store.searchAccess.database, {
    plan,
    maxRows: Infinity,
    maxBlocks: Infinity,
    maxIds: Infinity,
    breathe: async () => {}
  })
  if (!asked) return
  assert.equal(asked.isCut, false)
  for (const contentId of await contentsOf(store)) {
    const verdict = asked.answers.verdict(leaf, contentId)
    if (verdict !== undefined) assert.equal(verdict, matches(contentId), JSON.stringify(key))
  }
}

test('a part of a Message-ID is answered by the index alone, and a field that few have by its name', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 200 }, (_, index) => ({
    bytes: Buffer.from(
      `Message-ID: <${index}.abc@mail.example>\r\nX-Seen: ${index} times\r\n` +
        `${index % 50 === 3 ? 'X-Rare: 7 times\r\n' : ''}\r\nbody\r\n`
    )
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  /** @param {SearchKey} key */
  const ask = async (key) => {
    const plan = planSearch(key)
    const breathe = async () => {}
    const options = { plan, maxRows: Infinity, maxBlocks: Infinity, maxIds: Infinity, breathe }
    const asked = await askIndex(store.searchAccess.database, options)
    const [leaf] = plan.leaves
    assert.ok(asked && leaf)
    const ids = await contentsOf(store)
    return ids.map((contentId) => asked.answers.verdict(leaf, contentId))
  }
  const part = await ask({ op: 'header', field: 'Message-ID', value: '<12.' })
  assert.deepEqual(
    part.map((verdict, index) => (verdict === true ? index : -1)).filter((index) => index >= 0),
    [12]
  )
  assert.ok(!part.includes(undefined), 'nothing is left open')
  const all = await ask({ op: 'header', field: 'Message-ID', value: '.abc@mail.example>' })
  assert.ok(all.every((verdict) => verdict === true))
  for (const value of ['', 'times']) {
    const rare = await ask({ op: 'header', field: 'X-Rare', value })
    assert.deepEqual(
      rare.map((verdict, index) => (verdict === undefined ? index : -1)).filter((at) => at >= 0),
      [3, 53, 103, 153],
      'only these are looked at'
    )
  }
})

/** Values with the same letters at the beginning, in the middle and at the end, of one to four bytes each. */
const SUBJECTS = [
  '会议',
  '今天的会议',
  '会议报告',
  '议会',
  '会',
  '会  议',
  'Re: 会议 (2)',
  'qz',
  'QZ at the beginning',
  'at the end Qz',
  'a qz b',
  'zq',
  '😀😁',
  'x😀',
  '\u{10ffff}',
  'a\u{10ffff}',
  'q\r\nSubject: z',
  'a\r\nSubject: qz\r\nSubject: b',
  ''
]

const SHORT_TERMS = [
  ...['会', '议', '会议', '议会', '告', '的会', 'q', 'z', 'qz', 'zq', 'Z ', 'QZ', ' '],
  ...[
    '😀',
    '😀😁',
    '😁',
    'x😀',
    '\u{10ffff}',
    '\u{10ffff}a',
    'a\u{10ffff}',
    '@',
    '<',
    'ж',
    ') ',
    ':'
  ]
]

test('one or two letters in SUBJECT, FROM, TO or CC are answered by the index alone', async (t) => {
  const store = await temporaryStore(t)
  const mails = SUBJECTS.flatMap((subject, index) => [
    { bytes: Buffer.from(`From: q${index} <z@mail.example>\r\nSubject: ${subject}\r\n\r\nqz\r\n`) },
    {
      bytes: Buffer.from(
        `Cc: ${subject}\r\nFrom: 会 <a@议.example>\r\nTo: q\r\nTo: z\r\n\r\n会议\r\n`
      )
    }
  ])
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const known = mails.map(({ bytes }) => ({ ...readWhole(bytes), size: bytes.length }))
  const contents = await contentsOf(store)
  let hits = 0
  for (const field of ['subject', 'from', 'to', 'cc'])
    for (const value of SHORT_TERMS) {
      const key = /** @type {SearchKey} */ ({ op: 'header', field, value })
      const plan = planSearch(key)
      const breathe = async () => {}
      const options = { plan, maxRows: 1000, maxBlocks: 0, maxIds: Infinity, breathe }
      const asked = await askIndex(store.searchAccess.database, options)
      const [leaf] = plan.leaves
      assert.ok(asked && !asked.isCut && leaf)
      const found = contents.map((contentId) => asked.answers.verdict(leaf, contentId))
      const expected = known.map((message) => matchesByScan(key, message))
      assert.deepEqual(found, expected, JSON.stringify(key))
      hits += expected.filter(Boolean).length
    }
  assert.ok(hits > 200, `${hits}`)
  const find = await searcher(store)
  const both = /** @type {SearchKey} */ ({
    op: 'and',
    keys: [
      { op: 'header', field: 'subject', value: '会' },
      { op: 'not', key: { op: 'header', field: 'subject', value: '会议' } }
    ]
  })
  const expected = known.flatMap((message, slot) => (matchesByScan(both, message) ? [slot] : []))
  assert.deepEqual(await find(both), expected)
  assert.equal(expected.length, 3)
})

test('letters that are in too many fields are not read from the index one by one', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 50 }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${'e'.repeat(10)}${index}\r\n\r\nbody\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const plan = planSearch({ op: 'header', field: 'subject', value: 'e' })
  const breathe = async () => {}
  const options = { plan, maxRows: 400, maxBlocks: 0, maxIds: Infinity, breathe }
  const asked = await askIndex(store.searchAccess.database, options)
  assert.equal(asked?.isCut, true)
})

test('what the index keeps of subjects and addresses lies in blobs of which each fits into a page', async (t) => {
  const key = Buffer.alloc(32, 7)
  const store = await temporaryStore(t, { key })
  const mails = Array.from({ length: 300 }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${(index * 2_654_435_761).toString(36).repeat(6)}\r\n\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const db = rawHandle({ folder: store.folder, key })
  t.after(() => db.close())
  const count = (/** @type {string} */ sql) => Number(db.prepare(sql).pluck().get())
  assert.ok(count('SELECT count(*) FROM search_header_data') > 10)
  const pages = "SELECT count(*) FROM dbstat WHERE name = 'search_header_data'"
  assert.equal(count(`${pages} AND pagetype = 'overflow'`), 0)
})
