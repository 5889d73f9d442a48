/** Texts that are long, or have thousands of parts: whoever searches them lets others have their turn meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildMessageMeta } from '../../../../src/mime/message-meta.js'
import { parseMessage } from '../../../../src/mime/parse-message.js'
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
    for await (const piece of readTextPieces(reader, record, breathe)) text += `${piece.text}\n`
    if (title === 'short') assert.match(text, /^(?:one\ntwo\n+){900}/)
    assert.deepEqual(chunks, [...new Set(chunks)])
    assert.ok(pauses >= 900, `${pauses} pauses`)
  })
