import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { exportMailboxes, requireEmptyFolder } from '../../../src/export/export-mailbox.js'
import { emlTarget } from '../../../src/export/write-eml.js'
import { maildirTarget } from '../../../src/export/write-maildir.js'
import { mboxTarget } from '../../../src/export/write-mbox.js'
import { LIMITS } from '../../../src/imap/protocol/limits.js'
import { decodeUtf7, encodeUtf7 } from '../../../src/imap/protocol/values/modified-utf7.js'
import { Importer } from '../../../src/import/importer.js'
import { openSource } from '../../../src/import/open-source.js'
import {
  accountFolder,
  collect,
  scratchFolder,
  stage,
  sweepAll
} from '../../helpers/account-folder.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../helpers/corpus.js'
import { ManualClock } from '../../helpers/manual-clock.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

const TARGETS = { mbox: mboxTarget, maildir: maildirTarget, eml: emlTarget }

/** Messages that an mbox would spoil if it were written carelessly. */
const AWKWARD = [
  'From me: not a header\n',
  'Subject: x\n\nFrom here on\n>From there\n>>From\nFrom \n',
  'Subject: x\r\n\r\nno end',
  'Subject: x\n\nends with empty lines\n\n\n\n',
  '\nno header at all\n',
  'X-Letterlock-Added: 1\nStatus: RO\nSubject: forged\n\nx\n',
  `Subject: x\n\n${'>'.repeat(40)}From deep\n${'>'.repeat(62)}From deeper\n${'>'.repeat(90)}From deepest\n`,
  `Subject: x\n\n${[58, 59, 60, 5000].map((count) => `${'>'.repeat(count)}From x\n`).join('')}`,
  'x',
  '\n',
  'Subject: bare\r\rFrom x\r\n\rFrom y\n\r\n',
  `Subject: long\n\n${'From '.repeat(60_000)}\n`
]

/**
 * @param {AccountStore} store
 * @param {string} mailbox
 * @param {Iterable<Buffer>} messages
 * @param {{ keywords?: string[] }} [options] - `keywords`: of each of them
 */
async function fill(store, mailbox, messages, { keywords = [] } = {}) {
  let number = 0
  for (const bytes of messages) {
    const flags = [
      '\\Seen',
      '\\Answered',
      '\\Flagged',
      '\\Draft',
      '\\Deleted',
      '$Forwarded',
      'Work'
    ]
      .filter((_, index) => (number >> index) & 1)
      .concat(keywords)
    const internalDate = { epochSeconds: 1_500_000_000 + number++ * 1000, zoneMinutes: 0 }
    const content = await stage(store, bytes)
    await store.appendMessages(mailbox, [{ content, flags, internalDate }])
  }
}

/**
 * @param {AccountStore} store
 * @param {string} mailbox
 * @param {{ withFlags: boolean }} options
 * @returns {Promise<string[]>} what makes a message, sorted
 */
async function contentsOf(store, mailbox, { withFlags }) {
  const { view } = await store.openView(mailbox)
  const uids = [...view.uids.subarray(0, view.length)]
  const found = []
  for (let at = 0; at < uids.length; at += 500) {
    const page = await store.readMessages(view.mailboxId, uids.slice(at, at + 500), { row: true })
    for (const { flags, keywords, internalDate, contentId } of page) {
      const hash = createHash('sha256').update(await collect(store.readContent(contentId)))
      const names = withFlags ? store.keywords.flagNames(flags, keywords).sort().join(' ') : ''
      const seconds = withFlags ? internalDate.epochSeconds : 0
      found.push(`${hash.digest('hex').slice(0, 20)} ${seconds} ${names}`)
    }
  }
  store.closeView(view)
  return found.sort()
}

/**
 * @param {import('node:test').TestContext} t
 * @param {keyof typeof TARGETS} format
 * @param {Iterable<Buffer>} messages
 * @param {{ keywords?: string[] }} [options]
 */
async function goRound(t, format, messages, options) {
  const clock = new ManualClock()
  const from = await (await accountFolder(t)).create({ clock })
  await fill(from, 'Archive', messages, options)
  const folder = join(await scratchFolder(t), 'out')
  await requireEmptyFolder(folder)
  const isWanted = (/** @type {string} */ name) => name === 'Archive'
  const summary = await exportMailboxes({ store: from, target: TARGETS[format](folder), isWanted })
  const to = await (await accountFolder(t)).create({ clock })
  const importer = new Importer({
    store: to,
    mailbox: 'Back',
    clock,
    isAsIs: true,
    onFailure: ({ name, error }) => assert.fail(`${name}: ${error}`)
  })
  const path = { mbox: 'Archive.mbox', maildir: '.Archive', eml: 'Archive' }[format]
  await importer.run(await openSource(join(folder, path)))
  const withFlags = format !== 'eml'
  assert.deepEqual(
    await contentsOf(to, 'Back', { withFlags }),
    await contentsOf(from, 'Archive', { withFlags })
  )
  for (const name of readdirSync(folder, { recursive: true }))
    assert.equal(
      statSync(join(folder, String(name))).mode & 0o077,
      0,
      'mail is for its owner alone'
    )
  return { folder, summary }
}

for (const format of /** @type {const} */ (['mbox', 'maildir', 'eml'])) {
  test(`${format}: awkward messages come back byte for byte, with flags and dates`, async (t) => {
    const messages = AWKWARD.map((text) => Buffer.from(text, 'latin1'))
    const { summary } = await goRound(t, format, messages)
    assert.deepEqual([summary.mailboxes, summary.messages], [1, AWKWARD.length])
  })

  test(`${format}: the corpus comes back byte for byte`, { skip: corpusIsMissing }, async (t) => {
    const messages = [
      ...[...everydayMessages({ every: 20 })].map(({ bytes }) => bytes),
      ...[...tortureMessages({ every: 3 })].map(({ bytes }) => bytes)
    ].filter((bytes) => bytes.length > 0)
    await goRound(t, format, messages)
  })
}

for (const format of /** @type {const} */ (['mbox', 'maildir'])) {
  test(`${format}: keywords with any name a client may choose come back`, async (t) => {
    const keywords = ['constructor', 'toString', '__proto__', 'hasOwnProperty'].concat(
      'a[b',
      'a}b',
      'k'.repeat(LIMITS.keywordBytes)
    )
    await goRound(t, format, [Buffer.from('Subject: x\r\n\r\nbody\r\n')], { keywords })
  })
}

test('an mbox gives back any bytes, in any chunking of lines', async (t) => {
  const store = await (await accountFolder(t)).create()
  const line = fc.constantFrom(
    'From a',
    '>From b',
    '\n',
    '\r\n',
    'x\n',
    '>',
    'From \n',
    '\n\n',
    'Subject: y\n'
  )
  const messages = fc.sample(fc.array(line, { minLength: 1, maxLength: 12 }), {
    numRuns: 150,
    seed: 7
  })
  await store.close()
  await goRound(
    t,
    'mbox',
    messages.map((parts) => Buffer.from(parts.join('')))
  )
})

test('mbox: a date that its zone takes out of the years of four digits begins a message all the same', async (t) => {
  const store = await (await accountFolder(t)).create()
  const [first, last] = ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z'].map(
    (date) => Date.parse(date) / 1000
  )
  const dates = [
    { epochSeconds: 1_500_000_000, zoneMinutes: 0 },
    { epochSeconds: Number(last) + 12 * 3600, zoneMinutes: -12 * 60 },
    { epochSeconds: Number(first) - 12 * 3600, zoneMinutes: 12 * 60 }
  ]
  for (const internalDate of dates) {
    const content = await stage(store, Buffer.from('Subject: x\n\nbody\n'))
    await store.appendMessages('Archive', [{ content, flags: [], internalDate }])
  }
  const folder = await scratchFolder(t)
  const isWanted = (/** @type {string} */ name) => name === 'Archive'
  await exportMailboxes({ store, target: mboxTarget(folder), isWanted })
  const { items } = await openSource(join(folder, 'Archive.mbox'))
  const found = []
  for await (const { internalDate } of items()) found.push(internalDate?.epochSeconds)
  assert.deepEqual(found, [1_500_000_000, last, first])
})

test('the tree of mailboxes is a tree of files; dates are the files’ times', async (t) => {
  const store = await (await accountFolder(t)).create()
  await store.createMailbox('Work/Größe & Maß')
  await fill(store, 'Work/Größe & Maß', [Buffer.from('Subject: a\r\n\r\nb\r\n')])
  const list = (/** @type {string} */ folder) =>
    readdirSync(folder, { recursive: true }).map(String).sort()
  const isWanted = (/** @type {string} */ name) => name.startsWith('Work')
  const scratch = await scratchFolder(t)
  for (const [format, target] of Object.entries(TARGETS)) {
    mkdirSync(join(scratch, format))
    await exportMailboxes({ store, target: target(join(scratch, format)), isWanted })
  }
  assert.deepEqual(list(join(scratch, 'mbox')), ['Work', 'Work/Größe & Maß.mbox'])
  const eml = ['Work', 'Work/Größe & Maß', 'Work/Größe & Maß/00000001.eml']
  assert.deepEqual(list(join(scratch, 'eml')), eml)
  assert.equal(statSync(join(scratch, 'eml', eml[2] ?? '')).mtimeMs, 1_500_000_000_000)
  const sub = '.Work.Gr&APYA3w-e &- Ma&AN8-'
  assert.deepEqual(readdirSync(join(scratch, 'maildir')).sort(), [sub, 'cur', 'new', 'tmp'])
  const parts = readdirSync(join(scratch, 'maildir', sub)).sort()
  assert.deepEqual(parts, ['cur', 'maildirfolder', 'new', 'tmp'])
  const source = await openSource(join(scratch, 'maildir'))
  assert.deepEqual([source.format, source.total], ['maildir', 1], 'it is one without INBOX as well')
  const mbox = readFileSync(join(scratch, 'mbox', 'Work/Größe & Maß.mbox'), 'latin1')
  assert.match(
    mbox,
    /^From MAILER-DAEMON Fri Jul 14 02:40:00 2017\nX-Letterlock-Added: 1\nStatus: O\nSubject: a\r\n/
  )
})

test('INBOX is the Maildir itself; in an mbox an empty line stands before each next message, also where the last line has no end', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (const text of ['Subject: a\n\nno end', 'Subject: b\n\nend\n'])
    await fill(store, 'INBOX', [Buffer.from(text)])
  const isWanted = (/** @type {string} */ name) => name === 'INBOX'
  const scratch = await scratchFolder(t)
  /** @type {string[]} */
  const told = []
  for (const format of /** @type {const} */ (['mbox', 'maildir'])) {
    mkdirSync(join(scratch, format))
    const target = TARGETS[format](join(scratch, format))
    const onProgress = (/** @type {{ mailbox: string, done: number, total: number }} */ progress) =>
      told.push(Object.values(progress).join(' '))
    await exportMailboxes({ store, target, isWanted, onProgress })
  }
  assert.deepEqual(told.slice(0, 2), ['INBOX 1 2', 'INBOX 2 2'])
  const mbox = readFileSync(join(scratch, 'mbox', 'INBOX.mbox'), 'latin1')
  assert.equal(mbox.match(/(^|\n\n)From MAILER-DAEMON /g)?.length, 2)
  assert.ok(mbox.includes('no end\n\nFrom ') && mbox.endsWith('end\n\n'))
  assert.deepEqual(readdirSync(join(scratch, 'maildir')).sort(), ['cur', 'new', 'tmp'])
})

test('mailboxes with long names and many levels have places, each its own', async (t) => {
  const store = await (await accountFolder(t)).create()
  const long = [
    `${'я'.repeat(100)}/${'ж'.repeat(100)}`,
    ...['a', 'b'].map((last) => `${'x'.repeat(140)}/${'y'.repeat(140)}/${last}`),
    Array.from({ length: 30 }, () => 'level'.repeat(6)).join('/')
  ]
  for (const name of long) {
    await store.createMailbox(name)
    await fill(store, name, [Buffer.from(`Subject: ${long.indexOf(name)}\r\n\r\n`)])
  }
  const scratch = await scratchFolder(t)
  for (const [format, target] of Object.entries(TARGETS)) {
    mkdirSync(join(scratch, format))
    const { messages } = await exportMailboxes({ store, target: target(join(scratch, format)) })
    assert.equal(messages, long.length, format)
  }
  const folders = readdirSync(join(scratch, 'maildir'))
  for (const name of folders) {
    // Modified UTF-7 that was cut in its middle would be none.
    assert.equal(encodeUtf7(decodeUtf7(name) ?? ''), name)
  }
  assert.equal((await openSource(join(scratch, 'maildir'))).total, long.length)
})

for (const [format, target] of Object.entries(TARGETS)) {
  test(`${format}: messages that are expunged and swept away meanwhile are left out, the others whole`, async (t) => {
    const clock = new ManualClock()
    const store = await (await accountFolder(t)).create({ clock })
    // Of a large one there is a part already when it goes.
    const large = Buffer.from(`Subject: large\r\n\r\n${'line after line\r\n'.repeat(100_000)}`)
    const small = [1, 2, 3, 4].map((number) => Buffer.from(`Subject: ${number}\r\n\r\nbody\r\n`))
    await fill(store, 'Archive', [...small.slice(0, 2), large, ...small.slice(2)])
    const folder = await scratchFolder(t)
    const expungeAll = async () => {
      const { view } = await store.openView('Archive')
      const uids = [2, 3, 4]
      await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
      await store.expunge({ view, uids })
      store.closeView(view)
      await sweepAll(store)
    }
    const whole = target(folder)
    const summary = await exportMailboxes({
      store,
      isWanted: (name) => name === 'Archive',
      target: {
        openMailbox: async (name) => {
          const writer = await whole.openMailbox(name)
          return {
            ...writer,
            write: (message) =>
              message.uid === 3
                ? writer.write({ ...message, read: () => interrupted(message.read(), expungeAll) })
                : writer.write(message)
          }
        }
      }
    })
    assert.equal(summary.messages, 3)
    const to = await (await accountFolder(t)).create({ clock })
    const importer = new Importer({ store: to, mailbox: 'Back', clock, isAsIs: true })
    const path = { mbox: 'Archive.mbox', maildir: '', eml: '' }[format] ?? ''
    await importer.run(await openSource(join(folder, path)))
    assert.deepEqual(importer.summary, { imported: 3, skipped: 0, failed: 0 })
    const found = await contentsOf(to, format === 'maildir' ? 'Back/Archive' : 'Back', {
      withFlags: false
    })
    const wanted = [0, 1, 3].map((index) => hashOf(small[index] ?? large))
    assert.deepEqual(
      found.map((line) => line.slice(0, 20)),
      wanted.sort()
    )
  })
}

/**
 * @param {AsyncGenerator<Buffer>} pieces
 * @param {() => Promise<void>} work - behind the first piece
 */
async function* interrupted(pieces, work) {
  for await (const piece of pieces) {
    yield piece
    await work()
  }
}

/** @param {Buffer} bytes */
const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 20)
