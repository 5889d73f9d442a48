/**
 * Sources of an import that lie there as they are: folders, Maildirs, mboxes, single messages.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { openSource } from '../../../src/import/open-source.js'
import { isMailError } from '../../../src/errors.js'
import { collectBytes } from '../../helpers/collect.js'
import { corpusIsMissing, readManifest } from '../../helpers/corpus.js'
import { firstChunk, folderOf, MAIL, MBOX, readAll } from '../../helpers/import-source.js'

test('a folder gives its .eml files at any depth, in the order of names and numbers', async (t) => {
  const folder = await folderOf(t, {
    '10.eml': 'ten',
    '9.eml': 'nine',
    'sub/deeper/1.EML': 'one',
    '._9.eml': Buffer.of(0, 5, 0x16, 7),
    'notes.txt': 'no mail',
    'sub/picture.png': 'no mail'
  })
  const source = await openSource(folder)
  assert.equal(source.format, 'folder')
  assert.equal(source.ignoredCount, 3)
  const items = await readAll(folder)
  assert.deepEqual(
    items.map(({ name, text }) => [name, text]),
    [
      ['9.eml', 'nine'],
      ['10.eml', 'ten'],
      ['sub/deeper/1.EML', 'one']
    ]
  )
  assert.deepEqual(items[2]?.importKeyParts, ['sub', 'deeper', '1.EML'])
})

test('a loop of linked folders is not followed', async (t) => {
  const folder = await folderOf(t, { 'a/1.eml': 'one' })
  await symlink(folder, join(folder, 'a', 'loop'))
  assert.equal((await readAll(folder)).length, 1)
})

test('a file that cannot be opened fails when it is read, and the others come', async (t) => {
  const folder = await folderOf(t, { '1.eml': 'one', '3.eml': 'three' })
  await symlink(join(folder, 'nowhere'), join(folder, '2.eml'))
  const source = await openSource(folder)
  /** @type {string[]} */
  const outcomes = []
  for await (const item of source.items()) {
    outcomes.push(await collectBytes(item.open()).then(String, (error) => error.code))
  }
  assert.deepEqual(outcomes, ['one', 'ENOENT', 'three'])
})

/**
 * @param {string} folder
 * @param {string} name
 * @returns {Buffer} a path whose bytes are no UTF-8
 */
const inLatin1 = (folder, name) =>
  Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')])

test('names need not be UTF-8, of files and of folders', async (t) => {
  const folder = await folderOf(t, { 'ok.eml': 'ok' })
  await writeFile(inLatin1(folder, 'n\u00e4chste.eml'), 'name')
  await mkdir(inLatin1(folder, 'M\u00e4rz'))
  await writeFile(inLatin1(folder, 'M\u00e4rz/1.eml'), 'below')
  const items = await readAll(folder)
  assert.deepEqual(
    items.map(({ name, text }) => [name, text]),
    [
      ['M\u00e4rz/1.eml', 'below'],
      ['n\u00e4chste.eml', 'name'],
      ['ok.eml', 'ok']
    ]
  )
})

test('a Maildir may have such names as well', async (t) => {
  const folder = await folderOf(t, { 'cur/.keep': '', 'new/1600000001.a': 'one' })
  await writeFile(inLatin1(folder, 'cur/1600000002.h\u00f6st:2,S'), 'two')
  await mkdir(inLatin1(folder, '.Gel\u00f6scht'))
  for (const part of ['cur', 'new']) await mkdir(inLatin1(folder, `.Gel\u00f6scht/${part}`))
  await writeFile(inLatin1(folder, '.Gel\u00f6scht/cur/1600000003.a:2,'), 'three')
  const items = await readAll(folder)
  assert.deepEqual(
    items.map(({ text, folder: path }) => [text, ...path]),
    [['one'], ['two'], ['three', 'Gel\u00f6scht']]
  )
})

test(
  'a folder that may not be read fails, and the others come',
  { skip: process.getuid?.() === 0 && 'root may read everything' },
  async (t) => {
    const folder = await folderOf(t, { '1.eml': 'one', 'locked/2.eml': 'two' })
    await chmod(join(folder, 'locked'), 0)
    const source = await openSource(folder)
    await chmod(join(folder, 'locked'), 0o700)
    /** @type {string[]} */
    const outcomes = []
    for await (const item of source.items()) {
      outcomes.push(await collectBytes(item.open()).then(String, (error) => error.code))
    }
    assert.deepEqual(outcomes, ['one', 'EACCES'])
  }
)

test('pipes and sockets are reported and not waited for, whatever they are called', async (t) => {
  const folder = await folderOf(t, {
    'eml/1.eml': 'one',
    'maildir/cur/1600000001.a:2,': 'one',
    'maildir/new/.keep': ''
  })
  const pipes = ['eml/2.eml', 'maildir/cur/1600000002.a:2,', 'maildir/dovecot-keywords', 'mbox']
  execFileSync(
    'mkfifo',
    pipes.map((name) => join(folder, name))
  )
  await symlink(join(folder, 'mbox'), join(folder, 'eml/3.eml'))
  const server = createServer().listen(join(folder, 'eml/4.eml'))
  t.after(() => server.close())
  await once(server, 'listening')
  const outcomesOf = async (/** @type {string} */ name) => {
    const outcomes = []
    for await (const item of (await openSource(join(folder, name))).items())
      outcomes.push(await collectBytes(item.open()).then(String, (error) => error.message))
    return outcomes
  }
  const refused = 'no ordinary file'
  assert.deepEqual(await outcomesOf('eml'), ['one', refused, refused, refused])
  assert.deepEqual(await outcomesOf('maildir'), ['one', refused])
  await assert.rejects(openSource(join(folder, 'mbox')), { message: refused })
})

for (const [name, bytes] of /** @type {[string, Buffer][]} */ ([
  ['mail.mbox', Buffer.from(MBOX)],
  ['mail.mbox.gz', gzipSync(MBOX)],
  ['named-like-nothing', Buffer.from(MBOX)]
])) {
  test(`an mbox gives dates and flags: ${name}`, async (t) => {
    const folder = await folderOf(t, { [name]: bytes })
    const items = await readAll(join(folder, name))
    assert.deepEqual(
      items.map(({ text }) => text),
      [`Status: RO\nX-Status: AF\n${MAIL}`, 'Subject: two\n\nFrom x\n']
    )
    assert.deepEqual(items[0]?.flags, ['\\Seen', '\\Answered', '\\Flagged'])
    assert.deepEqual(items[1]?.flags, [])
    assert.equal(items[0]?.internalDate?.epochSeconds, Date.parse('2020-07-01T05:04:01Z') / 1000)
    assert.equal(items[0]?.name, `${name}: message 1 at byte 0`)
    assert.equal(items[1]?.name, `${name}: message 2 at byte ${MBOX.indexOf('From c@d')}`)
  })
}

test('flags of Thunderbird, Alpine and Dovecot are read from an mbox', async (t) => {
  const line = 'From a@b Wed Jul  1 05:04:01 2020\n'
  const folder = await folderOf(t, {
    mbox: [
      `${line}X-Mozilla-Status: 1007\nX-Mozilla-Keys: $label1 tea          \nA: b\n\n\n`,
      `${line}X-Keywords: NonJunk $Label1 b{d \nstatus: D\n\nStatus: RA\n\n`,
      `${line}X-Mozilla-Status: 0008\nX-Mozilla-Status2: 00000007\n\n\n`,
      `${line}Status: Delivered\n\n\n`
    ].join('')
  })
  const flags = (await readAll(join(folder, 'mbox'))).map((item) => item.flags)
  assert.deepEqual(flags, [
    ['\\Seen', '\\Answered', '\\Flagged', '$Forwarded', '$label1', 'tea'],
    ['NonJunk', '$Label1', '\\Deleted'],
    ['\\Deleted'],
    []
  ])
})

test('what UW IMAP, Alpine and Dovecot keep of a folder in its first message is none', async (t) => {
  const data = [
    'From MAILER-DAEMON Wed Jul  1 05:04:01 2020',
    'From: Mail System Internal Data <MAILER-DAEMON@host>',
    "Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA",
    'X-IMAP: 1593580000 0000000003 NonJunk',
    'Status: RO',
    '',
    'This text is part of the internal format of your mail folder.',
    '',
    ''
  ].join('\n')
  const line = 'From a@b Wed Jul  1 05:04:01 2020\n'
  const folder = await folderOf(t, { empty: data, mbox: `${data}${line}${MAIL}\n${data}` })
  assert.deepEqual(await readAll(join(folder, 'empty')), [])
  const items = await readAll(join(folder, 'mbox'))
  assert.deepEqual(
    items.map(({ name }) => name.replace(/ at byte \d+/, '')),
    ['mbox: message 2', 'mbox: message 3']
  )
})

test('a message of an mbox that is not read to its end does not disturb the next', async (t) => {
  const large = `Subject: x\n\n${'line\n'.repeat(200_000)}`
  const line = 'From a@b Wed Jul  1 05:04:01 2020\n'
  const folder = await folderOf(t, { mbox: `${line}${large}\n${line}${MAIL}\n` })
  const source = await openSource(join(folder, 'mbox'))
  /** @type {string[]} */
  const firsts = []
  for await (const item of source.items()) {
    firsts.push((await firstChunk(item)).toString('latin1', 0, 12))
  }
  assert.deepEqual(firsts, ['Subject: x\n\n', 'Subject: one'])
})

test('an .eml file that begins with an mbox line is one message; without that name it is an mbox', async (t) => {
  const folder = await folderOf(t, {
    '1.eml': MBOX,
    1: MBOX,
    mail: MAIL,
    marked: `\ufeff${MAIL}`,
    'marked mbox': `\ufeff${MBOX}`,
    'mark in a line': `\ufeff\n${MBOX}`
  })
  assert.equal((await openSource(join(folder, '1.eml'))).format, 'eml')
  assert.equal((await openSource(join(folder, '1'))).format, 'mbox')
  assert.equal((await openSource(join(folder, 'mail'))).format, 'eml')
  assert.equal((await openSource(join(folder, 'marked'))).format, 'eml')
  assert.equal((await openSource(join(folder, 'marked mbox'))).format, 'mbox')
  assert.equal((await openSource(join(folder, 'mark in a line'))).format, 'mbox')
})

test('a message with a From_ line is one of MH beside others of MH, where no program has left an index', async (t) => {
  const delivered = `From a@b Wed Jul  1 05:04:01 2020\n${MAIL}`
  const folder = await folderOf(t, { 'Work/1': MAIL, 'Work/2': delivered, 'Old/2019': delivered })
  assert.deepEqual(
    (await readAll(folder)).map(({ name, folder: levels }) => [name, ...levels]),
    [
      ['Old/2019: message 1 at byte 0', 'Old', '2019'],
      ['Work/1', 'Work'],
      ['Work/2', 'Work']
    ]
  )
})

test('an empty file is an mbox without messages', async (t) => {
  const folder = await folderOf(t, { empty: '' })
  assert.deepEqual(await readAll(join(folder, 'empty')), [])
})

test('a file that is no mail is refused with FORMAT_UNKNOWN', async (t) => {
  const folder = await folderOf(t, {
    'picture.png': Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1')
  })
  await assert.rejects(openSource(join(folder, 'picture.png')), (error) =>
    isMailError(error, 'FORMAT_UNKNOWN')
  )
})

test('a source that is not there is an error of the file system', async (t) => {
  const folder = await folderOf(t, {})
  await assert.rejects(openSource(join(folder, 'nowhere')), { code: 'ENOENT' })
})

test('the mbox files of the corpus give every message', { skip: corpusIsMissing }, async () => {
  const folder = new URL('../../../../shared/corpus/everyday/mbox/', import.meta.url)
  for (const { file = '', messages } of readManifest('everyday/mbox/manifest.tsv')) {
    const items = await readAll(new URL(file, folder).pathname)
    assert.equal(items.length, Number(messages), file)
    assert.ok(items.every(({ internalDate, text }) => internalDate && /^Return-Path:/.test(text)))
  }
})

test('a header of thousands of quoted lines is looked through once, and ends where it does', async (t) => {
  const header = `X-Mozilla-Status: 0001\n${'>From x\n'.repeat(7000)}`
  const message = `From a@b Wed Jul  1 05:04:01 2020\n${header}\nX-Mozilla-Status: 0008\n\n`
  const folder = await folderOf(t, { box: message })
  let joined = 0
  const { concat } = Buffer
  t.mock.method(Buffer, 'concat', (/** @type {Buffer[]} */ list, /** @type {number} */ length) => {
    const whole = concat(list, length)
    joined += whole.length
    return whole
  })
  const [item] = await readAll(join(folder, 'box'))
  assert.ok(item)
  assert.deepEqual(item.flags, ['\\Seen'])
  assert.equal(item.text, `${header.replaceAll('>From', 'From')}\nX-Mozilla-Status: 0008\n`)
  assert.ok(joined < 10 * message.length, `${joined} bytes were copied for ${message.length}`)
})

test('an mbox may begin with empty lines, and with nothing else', async (t) => {
  const folder = await folderOf(t, {
    'blank.mbox': `\n \t\r\n\v\f\n\n${MBOX}`,
    'text.mbox': `Dear all,\n\n${MBOX}`
  })
  assert.equal((await readAll(join(folder, 'blank.mbox'))).length, 2)
  await assert.rejects(readAll(join(folder, 'text.mbox')), { code: 'FORMAT_UNKNOWN' })
})
