import assert from 'node:assert/strict'
import test from 'node:test'
import iconv from 'iconv-lite'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { isMailError } from '../../../../src/errors.js'
import { selectIn } from '../../../helpers/selected.js'
import { searchKey } from '../../../helpers/search-key.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'
import { countTurns } from '../../../helpers/turns.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../../helpers/temporary-store.js').NewMail} NewMail */

const NOW_MS = Date.UTC(2024, 5, 15, 12)
const clock = { nowMs: () => NOW_MS }

/**
 * @param {string} text
 * @returns {Buffer}
 */
const mail = (text) => Buffer.from(text.replaceAll('\n', '\r\n'))

/**
 * @param {string} date - ISO 8601 with a zone
 * @returns {{ epochSeconds: number, zoneMinutes: number }}
 */
function at(date) {
  const [, sign = '+', hours = '0', minutes = '0'] = /([+-])(\d\d):(\d\d)$/.exec(date) ?? []
  const zoneMinutes = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes))
  return { epochSeconds: Date.parse(date) / 1000, zoneMinutes }
}

/** @type {NewMail[]} */
const MAILS = [
  {
    // 1: plain, seen
    bytes: mail(
      'From: Ann Example <ann@example.org>\nTo: bob@example.com\nSubject: First Meeting\n' +
        'Date: Wed, 1 Nov 2023 23:30:00 -0800\nMessage-ID: <one@example.org>\n\nHello Bob,\nsee you at noon.\n'
    ),
    flags: ['\\Seen'],
    internalDate: at('2023-11-02T08:00:00+01:00')
  },
  {
    // 2: encoded header and quoted-printable text in latin1
    bytes: mail(
      'From: =?iso-8859-1?Q?J=FCrgen?= <jm@example.de>\nTo: ann@example.org\nCc: carol@example.net\n' +
        'Subject: =?utf-8?B?R3LDvMOfZSBhdXM=?= =?utf-8?Q?_M=C3=BCnchen?=\nDate: Thu, 2 Nov 2023 09:00:00 +0100\n' +
        'Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n' +
        'Sch=F6ne Gr=FC=DFe aus der STRASSE, soft=\nbroken\n'
    ),
    flags: ['\\Answered', '$Junk'],
    internalDate: at('2023-11-02T23:59:59+01:00')
  },
  {
    // 3: multipart with HTML, base64 and a message inside
    bytes: mail(
      'From: carol@example.net\nTo: ann@example.org\nBcc: dave@example.org\nSubject: Parts\n' +
        'Date: Fri, 3 Nov 2023 00:00:00 +0000\nX-Custom:\nMIME-Version: 1.0\n' +
        'Content-Type: multipart/mixed; boundary=b\n\npreamble words\n--b\nContent-Type: text/html; charset=utf-8\n\n' +
        '<p class="hiddenclass">Vis<b>ible</b> &amp; clear</p>\n--b\nContent-Type: text/plain; charset=utf-8\n' +
        `Content-Transfer-Encoding: base64\n\n${Buffer.from('Привет, Мир').toString('base64')}\n--b\n` +
        'Content-Type: message/rfc822\n\nSubject: Inner subject\nFrom: eve@example.org\n\ninner body words\n--b\n' +
        `Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n${Buffer.from('binary needle').toString('base64')}\n--b--\nepilogue words\n`
    ),
    flags: ['\\Flagged', '\\Draft'],
    internalDate: at('2023-11-03T00:00:00+00:00')
  },
  {
    // 4: no date, no subject, deleted
    bytes: mail('From: nobody@example.org\n\nbody without much\n'),
    flags: ['\\Deleted'],
    internalDate: at('2024-06-15T11:59:00+00:00')
  },
  {
    // 5: empty fields, two Received, large
    bytes: mail(
      `Subject:\nReceived: from a\nReceived: from second-hop\nTo: "Quoted, Name" (comment) <q@example.org>\n\n${'filler '.repeat(2000)}\nlast words\n`
    ),
    flags: ['work', '\\Seen'],
    internalDate: at('2024-06-14T12:00:00+00:00')
  },
  {
    // 6: header only
    bytes: mail('Subject: only a header\nDate: 4 Nov 2023 10:00:00 GMT\n\n'),
    flags: [],
    internalDate: at('2023-11-04T10:00:00+00:00')
  }
]

/** @type {[string, number[]][]} */
const KEYS = [
  ['ALL', [1, 2, 3, 4, 5, 6]],
  ['NOT ALL', []],
  ['SEEN', [1, 5]],
  ['UNSEEN', [2, 3, 4, 6]],
  ['ANSWERED', [2]],
  ['UNANSWERED', [1, 3, 4, 5, 6]],
  ['FLAGGED', [3]],
  ['UNFLAGGED', [1, 2, 4, 5, 6]],
  ['DELETED', [4]],
  ['UNDELETED', [1, 2, 3, 5, 6]],
  ['DRAFT', [3]],
  ['UNDRAFT', [1, 2, 4, 5, 6]],
  ['KEYWORD $Junk', [2]],
  ['KEYWORD $junk', [2]],
  ['UNKEYWORD $Junk', [1, 3, 4, 5, 6]],
  ['KEYWORD nobody-has-this', []],
  ['UNKEYWORD nobody-has-this', [1, 2, 3, 4, 5, 6]],
  ['RECENT', [5, 6]],
  ['OLD', [1, 2, 3, 4]],
  ['NEW', [6]],
  ['NOT NEW', [1, 2, 3, 4, 5]],
  ['1', [1]],
  ['2:4', [2, 3, 4]],
  ['4:2,6', [2, 3, 4, 6]],
  ['*', [6]],
  ['5:*', [5, 6]],
  ['NOT 2:*', [1]],
  ['UID 1', [1]],
  ['UID 2:3,5', [2, 3, 5]],
  ['UID *', [6]],
  ['UID 100:*', [6]],
  ['UID 100', []],
  ['LARGER 10000', [5]],
  ['SMALLER 10000', [1, 2, 3, 4, 6]],
  ['FROM ann', [1]],
  ['FROM jürgen', [2]],
  ['FROM JÜRGEN', [2]],
  ['FROM "ann example"', [1]],
  ['FROM "<ann@example.org>"', [1]],
  ['TO ann', [2, 3]],
  ['TO "q@example.org"', [5]],
  ['TO "Quoted, Name"', [5]],
  ['CC carol', [2]],
  ['BCC dave', [3]],
  ['BCC ann', []],
  ['SUBJECT meeting', [1]],
  ['SUBJECT "grüße aus münchen"', [2]],
  ['SUBJECT "GRÜSSE"', []],
  ['SUBJECT ""', [1, 2, 3, 5, 6]],
  ['NOT SUBJECT ""', [4]],
  ['HEADER X-Custom ""', [3]],
  ['HEADER x-CUSTOM ""', [3]],
  ['HEADER X-Custom "x"', []],
  ['HEADER Received "second"', [5]],
  ['HEADER Message-ID "<ONE@example.org>"', [1]],
  ['HEADER No-Such ""', []],
  ['BODY noon', [1]],
  ['BODY NOON', [1]],
  ['BODY "schöne grüße"', [2]],
  ['BODY "softbroken"', [2]],
  ['BODY "visible & clear"', [3]],
  ['BODY hiddenclass', []],
  ['BODY "ПРИВЕТ, мир"', [3]],
  ['BODY "Inner subject"', [3]],
  ['BODY "inner body"', [3]],
  ['BODY "binary needle"', []],
  ['BODY "last words"', [5]],
  ['BODY Meeting', []],
  ['BODY ""', [1, 2, 3, 4, 5, 6]],
  ['TEXT Meeting', [1]],
  ['TEXT noon', [1]],
  ['TEXT münchen', [2]],
  ['TEXT "X-Custom"', [3]],
  ['TEXT ""', [1, 2, 3, 4, 5, 6]],
  ['NOT TEXT example', [6]],
  ['BEFORE 2-Nov-2023', []],
  ['ON 2-Nov-2023', [1, 2]],
  ['SINCE 3-Nov-2023', [3, 4, 5, 6]],
  ['BEFORE 3-Nov-2023', [1, 2]],
  ['SENTON 1-Nov-2023', [1]],
  ['SENTBEFORE 3-Nov-2023', [1, 2]],
  ['SENTSINCE 3-Nov-2023', [3, 6]],
  ['NOT SENTSINCE 3-Nov-2023', [1, 2, 4, 5]],
  ['SAVEDON 15-Jun-2024', [1, 2, 3, 4, 5, 6]],
  ['SAVEDBEFORE 15-Jun-2024', []],
  ['SAVEDSINCE 15-Jun-2024', [1, 2, 3, 4, 5, 6]],
  ['YOUNGER 3600', [4]],
  ['YOUNGER 86400', [4, 5]],
  ['OLDER 86400', [1, 2, 3, 5, 6]],
  ['MODSEQ 1', [1, 2, 3, 4, 5, 6]],
  ['MODSEQ 100000', []],
  ['SEEN LARGER 10000', [5]],
  ['OR SEEN DRAFT', [1, 3, 5]],
  ['OR FROM ann BODY "inner body"', [1, 3]],
  ['OR BODY noon SEEN', [1, 5]],
  ['NOT (OR SEEN BODY words)', [2, 4, 6]],
  ['TEXT example NOT TEXT bob UNDELETED', [2, 3, 5]],
  ['(SEEN) (NOT SEEN)', []]
]

/**
 * @param {import('node:test').TestContext} t
 * @param {NewMail[]} mails
 * @returns {Promise<{ store: AccountStore, selected: import('../../../../src/imap/session/selected-mailbox.js').SelectedMailbox, search: (text: string) => Promise<number[]> }>}
 *   a search that tells sequence numbers
 */
async function mailboxOf(t, mails) {
  const store = await temporaryStore(t, { clock })
  await appendAll(store, 'INBOX', mails)
  const { view, selected } = await selectIn(store)
  const search = async (/** @type {string} */ text) => {
    const slots = await searchMessages({ store, view, selected, key: searchKey(text), clock })
    return slots.map((slot) => selected.sequenceOfSlot(slot))
  }
  return { store, selected, search }
}

test('every search key finds what RFC 3501 §6.4.4 says', async (t) => {
  const { search, selected } = await mailboxOf(t, MAILS)
  selected.recent.add(5, 7)
  for (const [text, sequences] of KEYS) {
    await t.test(text, async () => assert.deepEqual(await search(text), sequences))
  }
})

test('an empty mailbox answers every key with nothing', async (t) => {
  const { search } = await mailboxOf(t, [])
  for (const [text] of KEYS) assert.deepEqual(await search(text), [], text)
})

/** @type {[string, string, string, string][]} */
const LANGUAGES = [
  ['koi8-r', 'Здравствуйте, как дела', 'КАК ДЕЛА', 'как делам'],
  ['windows-1251', 'Привіт світе', 'СВІТЕ', 'світи'],
  ['iso-8859-7', 'Καλημέρα κόσμος', 'ΚΌΣΜΟΣ', 'κοσμος'],
  ['windows-1255', 'שלום עולם', 'עולם', 'עולים'],
  ['windows-1256', 'السلام عليكم', 'عليكم', 'عليهم'],
  ['iso-2022-jp', 'こんにちは世界', '世界', '世間'],
  ['shift_jis', 'お元気ですか', '元気', '天気'],
  ['euc-jp', '日本語のメール', 'メール', 'メモ'],
  ['euc-kr', '안녕하세요 세계', '세계', '세상'],
  ['gb18030', '你好，世界', '世界', '世間'],
  ['big5', '繁體中文郵件', '中文', '中問'],
  ['windows-874', 'สวัสดีชาวโลก', 'ชาวโลก', 'ชาวนา'],
  ['iso-8859-2', 'Příliš žluťoučký kůň', 'ŽLUŤOUČKÝ KŮŇ', 'zlutoucky'],
  ['iso-8859-9', 'Günaydın İstanbul', 'GÜNAYDıN İSTANBUL', 'istanbul'],
  ['windows-1258', 'chào', 'CHÀO', 'chao'],
  ['utf-8', 'საქართველო', 'ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ', 'საქართველოს'],
  ['utf-8', 'ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ', 'ꮳꮃꭹ', 'ꮳꮃꮃ'],
  ['utf-8', '𞤀𞤣𞤤𞤢𞤥', '𞤢𞤁𞤤𞤢𞤥', '𞤢𞤣𞤤𞤢𞤢'],
  ['utf-8', 'हिन्दी में पत्र', 'में पत्र', 'पत्रिका'],
  ['utf-8', '😀 emoji', '😀', '😁'],
  // Spaces at which no line may end, and narrow ones.
  ['utf-8', '10\u202f000\u00a0€ pour vous', '10 000 € pour', '10000']
]

test('text and headers in any language and charset are found, regardless of case', async (t) => {
  const mails = LANGUAGES.map(([charset, text]) => {
    const bytes = /^utf-8$/.test(charset) ? Buffer.from(text) : encoded(text, charset)
    const subject = `=?${charset}?B?${bytes.toString('base64')}?=`
    const head = `Subject: ${subject}\r\nContent-Type: text/plain; charset=${charset}\r\n`
    const body = `Content-Transfer-Encoding: base64\r\n\r\n${bytes.toString('base64')}\r\n`
    return { bytes: Buffer.from(head + body) }
  })
  const { search } = await mailboxOf(t, mails)
  for (const [index, [charset, text, part, other]] of LANGUAGES.entries()) {
    await t.test(`${text} in ${charset}`, async () => {
      for (const field of ['SUBJECT', 'BODY', 'TEXT']) {
        assert.ok((await search(`${field} "${part}"`)).includes(index + 1), `${field} ${part}`)
        assert.ok(!(await search(`${field} "${other}"`)).includes(index + 1), `${field} ${other}`)
      }
    })
  }
})

test('whatever spaces a page has one is found, and words are where they may be cut', async (t) => {
  const page = '<p>The end.&nbsp; Next&nbsp;page&#8239;2 &nbsp;</p>Ver&shy;sand&#8203;kosten'
  const { search } = await mailboxOf(t, [
    { bytes: Buffer.from(`Content-Type: text/html\r\n\r\n${page}\r\n`) }
  ])
  assert.deepEqual(await search('BODY "end. Next page 2"'), [1])
  assert.deepEqual(await search('BODY "Nextpage"'), [])
  assert.deepEqual(await search('BODY "versandkosten"'), [1])
  assert.deepEqual(await search('BODY "Ver\u00adsandkosten"'), [1])
})

/** ISO-2022-JP is not among what iconv-lite writes. */
const ISO_2022_JP = Buffer.from('1b244224332473244b2441244f40243326 1b2842'.replace(' ', ''), 'hex')

/**
 * @param {string} text
 * @param {string} charset
 * @returns {Buffer}
 */
function encoded(text, charset) {
  return charset === 'iso-2022-jp' ? ISO_2022_JP : iconv.encode(text, charset)
}

test('text is found at the end of a large message, and a header field beyond 256 KiB', async (t) => {
  const lines = 'a line of filler text\r\n'.repeat(200_000)
  const fields = Array.from({ length: 9000 }, (_, n) => `X-Filler-${n}: ${'x'.repeat(30)}\r\n`)
  const { search } = await mailboxOf(t, [
    { bytes: Buffer.from(`Subject: large\r\n\r\n${lines}the needle\r\n`) },
    { bytes: Buffer.from(`${fields.join('')}Subject: far behind\r\n\r\nbody\r\n`) }
  ])
  assert.deepEqual(await search('BODY "the needle"'), [1])
  assert.deepEqual(await search('SUBJECT "far behind"'), [2])
  assert.deepEqual(await search('TEXT "FAR BEHIND"'), [2])
  assert.deepEqual(await search('NOT TEXT "needle"'), [2])
})

test('a message that another session expunged is found by the view alone', async (t) => {
  const { store, selected, search } = await mailboxOf(t, MAILS)
  const { view } = selected
  await store.changeFlags({
    view,
    uids: [2],
    action: 'add',
    flags: ['\\Deleted'],
    unchangedSince: null,
    origin: 'other'
  })
  await store.expunge({ view, uids: [2], origin: 'other' })
  assert.deepEqual(await search('2'), [2], 'its number is still in use')
  assert.deepEqual(await search('SUBJECT ""'), [1, 3, 5, 6])
  assert.deepEqual(await search('NOT BODY noon'), [3, 4, 5, 6])
  selected.takeNews({ allowsExpunge: true })
  assert.deepEqual(await search('ALL'), [1, 2, 3, 4, 5])
  assert.deepEqual(await search('2'), [2])
  assert.deepEqual(await search('SUBJECT parts'), [2], 'the numbers have moved')
})

test('a message that has arrived but was not told yet is not found', async (t) => {
  const { store, selected, search } = await mailboxOf(t, MAILS.slice(0, 2))
  await appendAll(store, 'INBOX', MAILS.slice(2, 3))
  assert.deepEqual(await search('ALL'), [1, 2])
  assert.deepEqual(await search('UID *'), [2])
  assert.deepEqual(await search('BODY words'), [])
  selected.takeNews({ allowsExpunge: false })
  assert.deepEqual(await search('BODY words'), [3])
})

test('a message that this client was told is \\Seen is so in its searches, also before that is on the disk', async (t) => {
  const { store, selected, search } = await mailboxOf(t, MAILS)
  const seen = await search('SEEN')
  const [uid = 0] = await search('UNSEEN BODY words')
  assert.ok(uid > 0)
  const modSeq = selected.view.highestModSeq + 1
  selected.noteSeen([uid], modSeq)
  const found = [...seen, uid].sort((left, right) => left - right)
  assert.deepEqual(await search('SEEN'), found)
  assert.deepEqual(await search('NOT UNSEEN'), found)
  assert.deepEqual(await search('UNSEEN BODY words'), [])
  await store.changeFlags({ view: selected.view, uids: [uid], action: 'add', flags: ['\\Seen'] })
  assert.equal(selected.view.highestModSeq, modSeq)
  assert.deepEqual(await search('SEEN'), found)
})

test('a search stops when it is called off', async (t) => {
  const { store, selected } = await mailboxOf(t, MAILS)
  const controller = new AbortController()
  const searching = searchMessages({
    store,
    view: selected.view,
    selected,
    key: searchKey('BODY words'),
    clock,
    signal: controller.signal
  })
  controller.abort(new Error('called off'))
  await assert.rejects(searching, /called off/)
})

test('a long search lets others have their turn', async (t) => {
  const mails = Array.from({ length: 300 }, (_, n) => ({
    bytes: Buffer.from(`Subject: ${n}\r\n\r\n${'filler text '.repeat(2000)}\r\n`)
  }))
  const { search } = await mailboxOf(t, mails)
  const { answer, turns } = await countTurns(() => search('BODY nowhere'))
  assert.deepEqual(answer, [])
  assert.ok(turns > 3, `${turns} turns`)
})

test('a tree that is no client’s is refused with LIMIT', async (t) => {
  const { store, selected } = await mailboxOf(t, [])
  let key = searchKey('SEEN')
  for (let depth = 0; depth < 10_000; depth++) key = { op: 'not', key }
  const searching = searchMessages({ store, view: selected.view, selected, key, clock })
  await assert.rejects(searching, (error) => isMailError(error, 'LIMIT'))
})
