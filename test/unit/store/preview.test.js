/** Previews are made in pieces: of a text in which nothing is to be seen a quarter of a megabyte is decoded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFolder, appendOne } from '../../helpers/account-folder.js'
import { turnsDuring } from '../../helpers/turns.js'

for (const [title, header, text] of /** @type {const} */ ([
  ['a page of tags alone', 'text/html', '<div>'],
  ['UTF-7', 'text/plain; charset=utf-7', '+ACA-'],
  ['a quotation', 'text/plain', '> quoted\r\n']
]))
  test(`a preview of ${title} lets others have their turn while it is made`, async (t) => {
    const store = await (await accountFolder(t)).create()
    const mail = `Content-Type: ${header}\r\n\r\n${text.repeat(400_000 / text.length)}`
    const uid = await appendOne(store, 'INBOX', Buffer.from(mail))
    const { view } = await store.openView('INBOX')
    const [record] = await store.readMessages(view.mailboxId, [uid], { partTree: true })
    assert.ok(record)
    const { answer, turns } = await turnsDuring(t, () =>
      store.readPreviews([record], { isLazy: false })
    )
    assert.equal(answer[0]?.slice(0, 8) ?? '', title === 'a quotation' ? '> quoted' : '')
    assert.ok(turns >= 16, `${turns} turns`)
  })
