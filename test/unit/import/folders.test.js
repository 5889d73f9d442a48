/**
 * Folders of mailboxes, as mail programs keep and export them.
 */
import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { mboxTarget } from '../../../src/export/write-mbox.js'
import { Importer } from '../../../src/import/importer.js'
import { openSource } from '../../../src/import/open-source.js'
import { systemClock } from '../../../src/support/clock.js'
import { folderOf, readAll } from '../../helpers/import-source.js'
import { temporaryStore } from '../../helpers/temporary-store.js'

const DATE = 'Wed Jul  1 05:04:01 2020'
const EPOCH = Date.UTC(2020, 6, 1, 5, 4, 1) / 1000

/** @param {string} subject */
const mail = (subject) => `Subject: ${subject}\n\nbody\n`

/** @param {string[]} subjects */
const mbox = (...subjects) =>
  subjects.map((subject) => `From - ${DATE}\n${mail(subject)}\n`).join('')

/**
 * @param {string} subject
 * @param {{ flags?: number, received?: number }} [properties]
 */
function emlx(subject, { flags, received } = {}) {
  const text = mail(subject)
  const list = [
    '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0">\n<dict>\n',
    ...(received === undefined
      ? []
      : [`\t<key>date-received</key>\n\t<integer>${received}</integer>\n`]),
    ...(flags === undefined ? [] : [`\t<key>flags</key>\n\t<integer>${flags}</integer>\n`]),
    '</dict>\n</plist>\n'
  ]
  return `${String(text.length).padEnd(10)}\n${text}${list.join('')}`
}

const THUNDERBIRD = {
  'Local Folders/Inbox': mbox('one', 'two'),
  'Local Folders/Inbox.msf': '// <!-- <mdb:mork:z v="1.4"/> -->',
  'Local Folders/Inbox.sbd/2019': mbox('three'),
  'Local Folders/Inbox.sbd/2019.msf': '// mork',
  'Local Folders/Inbox.sbd/2019.sbd/May': mbox('four'),
  'Local Folders/Entw&APw-rfe': mbox('five'),
  'Local Folders/Trash': '',
  'Local Folders/Trash.msf': '// mork',
  'Local Folders/msgFilterRules.dat': 'version="9"\n'
}

/**
 * @param {import('../../helpers/import-source.js').ReadItem[]} items
 * @returns {string[]} mailbox and subject of each
 */
const placesOf = (items) =>
  items.map(({ folder, text }) => `${folder.join('/')}: ${/^Subject: (.*)$/m.exec(text)?.[1]}`)

test('the folders of a Thunderbird profile nest as they do there; its indexes are no messages and no other files', async (t) => {
  const folder = await folderOf(t, THUNDERBIRD)
  const local = join(folder, 'Local Folders')
  assert.deepEqual(placesOf(await readAll(local)), [
    'Entwürfe: five',
    'Inbox: one',
    'Inbox: two',
    'Inbox/2019: three',
    'Inbox/2019/May: four'
  ])
  const source = await openSource(local)
  assert.equal(source.ignoredCount, 1, 'the filters')
  // How far it has come is told in bytes: nobody knows how many messages there are.
  const bytes = Object.values({ ...THUNDERBIRD })
    .filter((text) => text.startsWith('From '))
    .reduce((sum, text) => sum + text.length, 0)
  assert.deepEqual([source.unit, source.total, source.position], ['bytes', bytes, 0])
  await source.items().next()
  assert.ok(source.position > 0 && source.position <= bytes, `${source.position}`)
  const [first] = await readAll(folder)
  assert.deepEqual(first?.folder, ['Local Folders', 'Entwürfe'])
  assert.deepEqual(first.internalDate, { epochSeconds: EPOCH, zoneMinutes: 0 })
  assert.equal(first.name, 'Local Folders/Entw&APw-rfe: message 1 at byte 0')
})

test('mboxes that newer versions of Thunderbird have begun, or gone on with, are read whole', async (t) => {
  const bare = (/** @type {string} */ subject) => `From \r\n${mail(subject)}\n`
  const folder = await folderOf(t, {
    Archive: bare('one') + bare('two'),
    Inbox: mbox('three') + bare('four') + mbox('five'),
    'notes.txt': 'From \nhere on'
  })
  assert.deepEqual(placesOf(await readAll(folder)), [
    'Archive: one',
    'Archive: two',
    'Inbox: three',
    'Inbox: four',
    'Inbox: five'
  ])
  assert.equal((await openSource(folder)).ignoredCount, 1)
})

test('what Thunderbird keeps as a file per message goes to its folder, with its flags', async (t) => {
  const status = 'X-Mozilla-Status: 0005\r\nX-Mozilla-Keys: work\r\n'
  const folder = await folderOf(t, {
    'Inbox/cur/1.eml': `${status}${mail('one')}`,
    'Inbox/tmp/.keep': '',
    'Inbox.msf': '// mork',
    'Inbox.sbd/2019/cur/2.eml': mail('two'),
    Sent: mbox('three'),
    'saved/4.eml': `${status}${mail('four')}`
  })
  const items = await readAll(folder)
  assert.deepEqual(placesOf(items), ['Inbox/2019: two', 'Inbox: one', ': four', 'Sent: three'])
  assert.deepEqual(
    items.map(({ flags }) => flags),
    [[], ['\\Seen', '\\Flagged', 'work'], [], []]
  )
})

test('Maildirs that lie in a folder beside each other are taken for those of one', async (t) => {
  const folder = await folderOf(t, {
    'INBOX/cur/1600000001.a:2,S': mail('one'),
    'INBOX/new/1600000002.a': `From - ${DATE}\n${mail('two')}`,
    'INBOX/.mbsyncstate': 'x',
    'Lists/Node/cur/1600000003.a:2,': mail('three'),
    'Lists/Node/new/.keep': ''
  })
  const source = await openSource(folder)
  assert.equal(source.format, 'maildir')
  assert.deepEqual(placesOf(await readAll(folder)).sort(), [
    'INBOX: one',
    'INBOX: two',
    'Lists/Node: three'
  ])
})

const MH = {
  'inbox/1': mail('one'),
  'inbox/2': `X-Else: 1\n${mail('two')}`,
  'inbox/10': `Received: a\n b\n${mail('ten')}`,
  'inbox/11': `\ufeffX: 1\n${mail('eleven')}`,
  // As procmail delivers.
  'inbox/13': `From ann@b.example  ${DATE}\n${mail('thirteen')}`,
  'inbox/,3': mail('deleted'),
  'inbox/.mh_sequences': 'cur: 2\nunseen: 10-12\n 1\nreplied: 2 5 4294967297\nflagged: 10 1\n',
  'lists/node/7': mail('seven'),
  'lists/node/.claws_cache': 'binary',
  'lists/node/8': mbox('eight', 'nine'),
  'lists/node/9': '',
  'lists/2019': 'Numbers: 1\nof something\n',
  'saved.eml': mail('loose')
}

test('folders of MH nest as they do there, with what their sequences say', async (t) => {
  const folder = await folderOf(t, MH)
  const items = await readAll(folder)
  assert.deepEqual(placesOf(items), [
    'inbox: one',
    'inbox: two',
    'inbox: ten',
    'inbox: eleven',
    'inbox: thirteen',
    'lists/node: seven',
    'lists/node/8: eight',
    'lists/node/8: nine',
    ': loose'
  ])
  assert.deepEqual(
    items.slice(0, 6).map(({ flags }) => flags),
    [['\\Flagged'], ['\\Seen', '\\Answered'], ['\\Flagged'], [], ['\\Seen'], []]
  )
  assert.equal((await openSource(folder)).ignoredCount, 2, 'the deleted one, and a list')
  assert.deepEqual(placesOf(await readAll(join(folder, 'inbox')))[0], ': one')
})

test('a folder of MH that numbers its messages anew brings none of them in twice', async (t) => {
  const folder = await folderOf(t, { 'inbox/1': mail('one'), 'inbox/5': mail('five') })
  const store = await temporaryStore(t)
  const first = await importFrom(store, folder)
  assert.deepEqual(first.counts, ['Moved/inbox 2'])
  await rename(join(folder, 'inbox/5'), join(folder, 'inbox/2'))
  assert.deepEqual(await importFrom(store, folder), { ...first, imported: 0, skipped: 2 })
})

test('what Apple Mail exports nests as there: the folder stands for the mailbox', async (t) => {
  const folder = await folderOf(t, {
    'Work.mbox/mbox': mbox('one'),
    'Work.mbox/table_of_contents': 'binary',
    'Work/Old.mbox/mbox': mbox('two')
  })
  assert.deepEqual(placesOf(await readAll(folder)), ['Work: one', 'Work/Old: two'])
  assert.deepEqual(placesOf(await readAll(join(folder, 'Work.mbox'))), [': one'])
})

test('an .emlx has its message, its flags and when it was received, and goes to the mailbox that it lies in', async (t) => {
  const messages = 'V10/0A1B/INBOX.mbox/2C3D/Data/9/Messages'
  const folder = await folderOf(t, {
    [`${messages}/9.emlx`]: emlx('nine', { flags: 0x1 | 0x4 | 0x10 | 0x100, received: EPOCH }),
    [`${messages}/10.emlx`]: emlx('ten', { flags: 0x2 | 0x40 | 0x1000000 }),
    [`${messages}/._10.emlx`]: 'macOS',
    'V10/0A1B/INBOX.mbox/Sub.mbox/2C3D/Data/Messages/11.emlx': emlx('eleven'),
    'loose.emlx': emlx('twelve')
  })
  const items = await readAll(folder)
  assert.deepEqual(placesOf(items), [': twelve', 'INBOX: nine', 'INBOX: ten', 'INBOX/Sub: eleven'])
  const source = await openSource(folder)
  assert.deepEqual([source.unit, source.total, source.ignoredCount], ['messages', 4, 1])
  const [, nine, ten, eleven] = items
  assert.equal(nine?.text, mail('nine'))
  assert.deepEqual(nine.flags, ['\\Seen', '\\Answered', '\\Flagged', '$Forwarded'])
  assert.deepEqual(nine.internalDate, { epochSeconds: EPOCH, zoneMinutes: 0 })
  assert.deepEqual(ten?.flags, ['\\Deleted', '\\Draft', '$Junk'])
  assert.equal(ten.internalDate, null)
  assert.deepEqual(eleven?.flags, [])
  assert.deepEqual(placesOf(await readAll(join(folder, 'loose.emlx'))), [': twelve'])
})

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {string} path
 */
async function importFrom(store, path) {
  /** @type {string[]} */
  const failures = []
  const importer = new Importer({
    store,
    mailbox: 'Moved',
    clock: systemClock,
    onFailure: ({ name, error }) =>
      failures.push(`${name}: ${/** @type {Error} */ (error).message}`)
  })
  await importer.run(await openSource(path))
  const counts = (await store.listMailboxes())
    .filter(({ name }) => name.startsWith('Moved/'))
    .map(({ name, messageCount }) => `${name} ${messageCount}`)
  return { ...importer.summary, failures, counts }
}

test('what is no whole message of Apple Mail is reported, and the others go in', async (t) => {
  const folder = await folderOf(t, {
    '1.emlx': emlx('one'),
    '2.partial.emlx': emlx('two'),
    '3.emlx': emlx('three').slice(0, 20),
    '4.emlx': 'Subject: four\n\n',
    '5.emlx': `0\n<plist/>`,
    '6.emlx': `${mail('no list').length}\n${mail('no list')}`
  })
  const store = await temporaryStore(t)
  const { imported, failed, failures } = await importFrom(store, folder)
  assert.deepEqual([imported, failed], [2, 4])
  assert.deepEqual(failures, [
    '2.partial.emlx: a part of a message: export the mailbox in Apple Mail',
    '3.emlx: its end is missing',
    '4.emlx: its first line is not the length of a message',
    '5.emlx: The message is empty'
  ])
})

test('mail that a folder does not bring in with it is told: Maildirs beside other mail, and what links lead to elsewhere', async (t) => {
  const folder = await folderOf(t, {
    'mail/list': mbox('one'),
    'mail/Old/Inbox/cur/1600000001.a:2,S': mail('two'),
    'mail/Old/Inbox/.Sub/new/1600000002.a': mail('three'),
    'mail/Work/cur/1600000003.a:2,': mail('four'),
    'mail/Work/notes.txt': 'no mail',
    'archive/2019': mbox('five')
  })
  await symlink('../archive', join(folder, 'mail/Archive'))
  await symlink('Work', join(folder, 'mail/Same'))
  const store = await temporaryStore(t)
  const { imported, failed, failures } = await importFrom(store, join(folder, 'mail'))
  assert.deepEqual([imported, failed], [1, 3])
  assert.deepEqual(failures, [
    'Archive: a link to a folder; import what it leads to by itself',
    'Old/Inbox: a Maildir beside other mail; import it by itself',
    'Work: a Maildir beside other mail; import it by itself'
  ])
  assert.equal((await openSource(join(folder, 'mail'))).ignoredCount, 2)
  await rm(join(folder, 'mail/list'))
  const alone = await importFrom(store, join(folder, 'mail'))
  assert.deepEqual([alone.imported, alone.failed], [3, 2], 'both links are told, as in any Maildir')
})

test('a second run over folders adds nothing, also where an equal message went from another one meanwhile', async (t) => {
  const folder = await folderOf(t, {
    ...THUNDERBIRD,
    'Local Folders/Copies': mbox('one', 'one')
  })
  const store = await temporaryStore(t)
  const local = join(folder, 'Local Folders')
  const first = await importFrom(store, local)
  const counts = [
    'Moved/Copies 2',
    'Moved/Entwürfe 1',
    'Moved/Inbox 2',
    'Moved/Inbox/2019 1',
    'Moved/Inbox/2019/May 1'
  ]
  assert.deepEqual(first, { imported: 7, skipped: 0, failed: 0, failures: [], counts })
  assert.deepEqual(await importFrom(store, local), { ...first, imported: 0, skipped: 7 })
  await writeFile(join(local, 'Copies'), mbox('six'))
  const third = await importFrom(store, local)
  assert.deepEqual([third.imported, third.skipped], [1, 5])
})

test('a damaged mbox fails alone, and so does one that may not be read', async (t) => {
  const packed = gzipSync(mbox('one').repeat(1000))
  const folder = await folderOf(t, {
    'A.mbox.gz': packed.subarray(0, packed.length >> 1),
    B: mbox('two'),
    'picture.gz': packed.subarray(0, 9),
    'C.mbox': mbox('three')
  })
  const store = await temporaryStore(t)
  const { failures, counts } = await importFrom(store, folder)
  for (const failure of failures) assert.match(failure, /^A\.mbox\.gz: /)
  assert.match(failures.at(-1) ?? '', /^A\.mbox\.gz: (?!message)/, 'the rest of it')
  assert.ok(counts.includes('Moved/B 1') && counts.includes('Moved/C 1'), counts.join())
  if (process.getuid?.() === 0) return
  await chmod(join(folder, 'B'), 0)
  assert.match((await importFrom(store, folder)).failures.join('\n'), /^B: EACCES/m)
})

test('the mboxes of our own export come back into mailboxes of their names', async (t) => {
  const folder = await folderOf(t, { '.keep': '' })
  await rm(join(folder, '.keep'))
  const target = mboxTarget(folder)
  const names = [
    'INBOX',
    'Lists/Node',
    'Lists',
    'cur/a',
    'new/b/c',
    'new/d',
    'new/1234567890.e',
    'R&D',
    'R&-D',
    'Gr&APw-n'
  ]
  for (const name of names) {
    const writer = await target.openMailbox(name)
    await writer.write({
      uid: 1,
      size: mail(name).length,
      flags: ['\\Seen'],
      internalDate: { epochSeconds: EPOCH, zoneMinutes: 0 },
      endsLine: async () => true,
      read: async function* () {
        yield Buffer.from(mail(name))
      }
    })
    await writer.close()
  }
  const items = await readAll(folder)
  assert.deepEqual(placesOf(items).sort(), names.map((name) => `${name}: ${name}`).sort())
  assert.ok(items.every(({ flags }) => flags.includes('\\Seen')))
  for (const name of ['new/d.mbox', 'cur/a.mbox']) {
    const path = join(folder, name)
    await writeFile(`${path}.gz`, gzipSync(await readFile(path)))
    await rm(path)
  }
  assert.deepEqual(placesOf(await readAll(folder)), placesOf(items), 'packed')
  await rm(join(folder, 'new/d.mbox.gz'))
  await rm(join(folder, 'new/1234567890.e.mbox'))
  await rm(join(folder, 'cur/a.mbox.gz'))
  await mkdir(join(folder, 'cur/b'))
  assert.equal(
    (await readAll(folder)).length,
    names.length - 3,
    'with folders alone in cur and new'
  )
})

test('what is no modified UTF-7 to the bit is the name itself', async (t) => {
  const folder = await folderOf(t, {
    'Tom&Tim-2019': mbox('one'),
    'x&APw-&AN8-': mbox('letter by letter'),
    'x&-y': mbox('two'),
    'y&ACYA,A-': mbox('more than need be')
  })
  assert.deepEqual(placesOf(await readAll(folder)), [
    'Tom&Tim-2019: one',
    'x&y: two',
    'xüß: letter by letter',
    'y&ü: more than need be'
  ])
})

test('a text that begins with “From” is no mbox unless it has a date or the name of one; messages and mboxes may lie together', async (t) => {
  const folder = await folderOf(t, {
    'letter.txt': 'From here to there\n',
    'old.mbox': `From somebody\n${mail('one')}`,
    'x/1.eml': mail('two'),
    'x/list': mbox('three')
  })
  assert.deepEqual(placesOf(await readAll(folder)), ['old: one', ': two', 'x/list: three'])
  assert.equal((await openSource(folder)).ignoredCount, 1)
})
