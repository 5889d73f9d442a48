/**
 * Messages whose lists are packed, and lists of them read page by page.
 */
import assert from 'node:assert/strict'
import { accountFolder, rawHandle, stage } from './account-folder.js'

/**
 * @param {number} number
 * @param {{ received?: number, signatures?: number, extra?: string }} [what] - lines of Received and DKIM-Signature, and more
 *   fields
 * @returns {Buffer}
 */
export function listedMail(number, { received = 1, signatures = 1, extra = '' } = {}) {
  const hops = Array.from(
    { length: received },
    (_, hop) => `Received: from hop${hop}.example by mx.example with ESMTP id ${number}\r\n`
  )
  const signed = Array.from(
    { length: signatures },
    (_, nth) => `DKIM-Signature: v=1; d=${nth}.example; b=${number}\r\n`
  )
  return Buffer.from(
    `${hops.join('')}${signed.join('')}From: Writer ${number} <w${number}@example.org>\r\nTo: reader@example.org\r\n` +
      `Subject: marker-${number}\r\nMessage-ID: <${number}@example.org>\r\n${extra}\r\nText ${number}\r\n`
  )
}

/** @param {import('node:test').TestContext} t */
export async function setUpLists(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const db = rawHandle(account)
  t.after(() => db.close())
  const count = (/** @type {string} */ table) =>
    /** @type {number} */ (db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
  return { ...account, store, view, db, count }
}

/**
 * @param {import('../../src/store/account-store.js').AccountStore} store
 * @param {string} mailbox
 * @param {readonly Buffer[]} mails
 */
export async function appendTogether(store, mailbox, mails) {
  const messages = []
  for (const bytes of mails)
    messages.push({ content: await stage(store, bytes), flags: [], internalDate: null })
  await store.appendMessages(mailbox, messages)
}

/**
 * @param {import('../../src/store/account-store.js').AccountStore} store
 * @param {number} count
 */
export async function fillAndPack(store, count) {
  const mails = Array.from({ length: count }, (_, number) => listedMail(number))
  await appendTogether(store, 'INBOX', mails)
  await store.indexSearch()
}

/** @typedef {import('../../src/store/read-page.js').ColumnKind} ColumnKind */

/**
 * @param {import('../../src/store/mailbox-view.js').MailboxView} view
 * @param {number} fromUid
 * @param {number} toUid
 * @param {number} [step] - every so many-th message
 * @returns {number[]} of the messages that are there
 */
export function slotsOf(view, fromUid, toUid, step = 1) {
  const slots = []
  for (let uid = fromUid; uid <= toUid; uid += step) {
    const slot = view.slotOf(uid)
    if (slot >= 0 && !view.isExpunged(slot)) slots.push(slot)
  }
  return slots
}

/**
 * @param {import('../../src/store/account-store.js').AccountStore} store
 * @param {import('../../src/store/mailbox-view.js').MailboxView} view
 * @param {number} lastUid
 * @param {readonly ColumnKind[]} columns
 * @param {number} [step] - every so many-th message
 * @returns {Promise<{ uid: number, texts: string[] }[] | null>} page by page, as far as each goes
 */
export async function readList(store, view, lastUid, columns, step = 1) {
  const list = []
  for (let firstUid = 1; firstUid <= lastUid;) {
    const slots = slotsOf(view, firstUid, lastUid, step)
    if (slots.length === 0) break
    /** @type {import('../../src/store/read-page.js').PageNeeds} */
    const needs = { withDates: true, columns, previews: 'none' }
    const page = await store.readPage(view, slots, needs)
    if (page === null) return null
    // Read again, by the view, which has just learnt where everything is.
    assert.deepEqual(await store.readPage(view, slots, { ...needs, withDates: false }), {
      ...page,
      dates: [],
      zones: []
    })
    assert.equal(page.dates.length, page.uids.length)
    for (const [index, uid] of page.uids.entries()) {
      const texts = columns.map((kind) => {
        const { starts = [], bytes = Buffer.alloc(0) } = page.columns[kind] ?? {}
        assert.equal(starts.length, page.uids.length + 1)
        assert.equal(starts.at(-1), bytes.length)
        return bytes.toString('latin1', starts[index], starts[index + 1])
      })
      list.push({ uid, texts })
    }
    if (page.isWhole) break
    firstUid = (page.uids.at(-1) ?? lastUid) + step
  }
  return list
}
