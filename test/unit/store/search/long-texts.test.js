/** Texts that are long, or have thousands of parts: whoever searches them lets others have their turn meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildMessageMeta } from '../../../../src/mime/message-meta.js'
import { parseMessage } from '../../../../src/mime/parse-message.js'
import { readMessageRecords } from '../../../../src/store/read-messages.js'
import { readTextPieces } from '../../../../src/store/search/message-text.js'
import { accountFolder, appendOne } from '../../../helpers/account-folder.js'
import { searcher } from '../../../helpers/index-oracle.js'
import { turnsDuring } from '../../../helpers/turns.js'

const BYTES = 1_000_000

/** @param {string} text */
const filledWith = (text) => text.repeat(Math.ceil(BYTES / text.length))

for (const [title, header, body] of /** @type {const} */ ([
  ['tags alone', 'Content-Type: text/html', '<div>'],
  ['joined lines', 'Content-Transfer-Encoding: quoted-printable', '=\r\n'],
  ['no base64', 'Content-Transfer-Encoding: base64', '!']
]))
  test(`a text of ${title} lets others have their turn while it is decoded`, async (t) => {
    const store = await (await accountFolder(t)).create()
    const mail = `${header}\r\n\r\n${filledWith(body)}`
    await appendOne(store, 'INBOX', Buffer.from(mail, 'latin1'))
    const { find } = await searcher(store, 'INBOX')
    const { answer, turns } = await turnsDuring(t, () => find({ op: 'body', value: 'needle' }))
    assert.deepEqual(answer, [])
    assert.ok(turns >= 50, `${turns} turns`)
  })

for (const [title, part] of [
  ['empty', '--b\r\n\r\n'],
  ['nested', '--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'],
  ['short', '--b\r\nContent-Description: one\r\n\r\ntwo\r\n']
])
  test(`of a thousand ${title} parts each chunk is read once, and others have their turn`, async () => {
    const head = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n'
    const mail = Buffer.from(`${head}${filledWith(part ?? '')}`)
    const { partTree } = buildMessageMeta(parseMessage(mail))
    /** @type {number[]} */
    const chunks = []
    const reader = {
      /**
       * @param {number} _
       * @param {number} [start]
       * @param {number} [end]
       */
      async *readContent(_, start = 0, end = Infinity) {
        for (let at = start; at < Math.min(end, mail.length);) {
          const to = Math.min(end, mail.length, at - (at % 131_072) + 131_072)
          chunks.push(at)
          yield Buffer.from(mail.subarray(at, to))
          at = to
        }
      }
    }
    let pauses = 0
    const record = { contentId: 1, size: mail.length, header: null, partTree }
    const breathe = async () => {
      pauses++
    }
    let text = ''
    const pace = { breathe, maxHeaderBytes: Infinity }
    for await (const piece of readTextPieces(reader, record, pace)) text += `${piece.text}\n`
    if (title === 'short') assert.match(text, /^(?:one\ntwo\n+){900}/)
    assert.deepEqual(chunks, [...new Set(chunks)])
    assert.ok(pauses >= 900, `${pauses} pauses`)
  })

const LINES = 'a\r\n'.repeat(100_000)

for (const [title, op, mail] of /** @type {const} */ ([
  ['its own', 'text', `Subject: needle\r\n${LINES}\r\nx`],
  ['its own', 'header', `${LINES}Subject: needle\r\n\r\nx`],
  [
    'that of a message inside',
    'body',
    `Content-Type: message/rfc822\r\n\r\nSubject: needle\r\n${LINES}\r\nx`
  ],
  [
    'that of a part',
    'body',
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Description: needle\r\n${LINES}\r\nx`
  ]
]))
  test(`a message is searched by ${op} in a thread when a header of so many lines is ${title}`, async (t) => {
    const store = await (await accountFolder(t)).create()
    await appendOne(store, 'INBOX', Buffer.from(mail))
    await appendOne(store, 'INBOX', Buffer.from('Subject: other\r\n\r\nneedle'))
    const { searchAccess } = store
    let scans = 0
    t.mock.method(searchAccess.scanner, 'scan', (/** @type {[any, any]} */ ...request) => {
      scans++
      return Object.getPrototypeOf(searchAccess.scanner).scan.apply(searchAccess.scanner, request)
    })
    const { find } = await searcher(store, 'INBOX')
    const key = { op, value: 'needle', field: 'Subject' }
    assert.deepEqual(await find(key), op === 'header' ? [1] : [1, 2])
    assert.equal(scans, 1)
  })

test('headers of a few thousand lines are decoded here, and others have their turn before each', async (t) => {
  const store = await (await accountFolder(t)).create()
  const head = 'Subject: other\r\n'.repeat(1900)
  for (let nth = 0; nth < 60; nth++)
    await appendOne(store, 'INBOX', Buffer.from(`${head}To: ${nth}@x\r\n\r\nx`))
  const { find } = await searcher(store, 'INBOX')
  const key = { op: /** @type {const} */ ('header'), field: 'Subject', value: 'needle' }
  const { answer, turns } = await turnsDuring(t, () => find(key))
  assert.deepEqual(answer, [])
  assert.ok(turns >= 110, `${turns} turns`)
})

test('a long message of which nothing has been made is parsed with pauses', async (t) => {
  const store = await (await accountFolder(t)).create()
  const uid = await appendOne(store, 'INBOX', Buffer.from(filledWith('=\r\n')))
  const { view } = await store.openView('INBOX')
  const { database } = store.searchAccess
  const { answer, turns } = await turnsDuring(t, () =>
    readMessageRecords(database, view.mailboxId, [uid], { partTree: true })
  )
  assert.ok(answer[0]?.partTree)
  assert.ok(turns >= BYTES / 131_072, `${turns} turns`)
})
