import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import test from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { openSource } from '../../../src/import/open-source.js'
import { isMailError } from '../../../src/errors.js'
import { collectBytes } from '../../helpers/collect.js'
import { corpusIsMissing, readManifest } from '../../helpers/corpus.js'
import { folderOf, readAll } from '../../helpers/import-source.js'

/** @typedef {import('../../../src/import/import-item.js').ImportItem} ImportItem */

/**
 * @typedef {object} Member
 * @property {string} name
 * @property {string | Buffer} content
 * @property {Date} [mtime]
 * @property {'file' | 'directory' | 'link' | 'symlink'} [type]
 * @property {string} [linkname]
 * @property {Record<string, string>} [pax]
 *
 * @param {Member[]} members
 * @returns {Promise<Buffer>}
 */
async function tarOf(members) {
  const archive = pack()
  for (const { content, type = 'file', ...more } of members) {
    archive.entry({ type, ...more }, content)
  }
  archive.finalize()
  return await collectBytes(/** @type {AsyncIterable<Buffer>} */ (archive))
}

/**
 * @param {ImportItem} item
 * @returns {Promise<Buffer>} and the rest is left unread
 */
async function firstChunk(item) {
  const chunks = item.open()[Symbol.asyncIterator]()
  const { value } = await chunks.next()
  await chunks.return?.()
  return value
}

const MAIL = 'Subject: one\n\nbody\n'
const MBOX = `From a@b Wed Jul  1 05:04:01 2020\nStatus: RO\nX-Status: AF\n${MAIL}\nFrom c@d Thu Jul  2 05:04:01 2020\nSubject: two\n\n>From x\n\n`

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

for (const isGzipped of [false, true]) {
  test(`a tar ${isGzipped ? 'with' : 'without'} gzip gives its .eml files with their times`, async (t) => {
    const tar = await tarOf([
      { name: 'pack/', content: '', type: 'directory' },
      { name: 'pack/1.eml', content: MAIL, mtime: new Date('2020-07-01T05:04:01Z') },
      { name: 'pack/README', content: 'no mail' },
      { name: 'pack/._1.eml', content: Buffer.of(0, 5, 0x16, 7) },
      { name: `./pack/${'long/'.repeat(40)}2.eml`, content: 'two', mtime: new Date(0) },
      { name: 'pack/empty.eml', content: '' },
      { name: 'pack/3.eml', content: Buffer.alloc(300_000, 'x\n') }
    ])
    const folder = await folderOf(t, { archive: isGzipped ? gzipSync(tar) : tar })
    const items = await readAll(join(folder, 'archive'))
    assert.deepEqual(
      items.map(({ text }) => text.length),
      [MAIL.length, 3, 0, 300_000]
    )
    assert.equal(items[0]?.internalDate?.epochSeconds, Date.parse('2020-07-01T05:04:01Z') / 1000)
    assert.equal(items[1]?.internalDate, null)
    assert.equal(items[0]?.name, 'archive: pack/1.eml')
    assert.equal(items[1]?.importKeyParts?.[0], 'pack')
  })
}

test('mail in a tar that is no .eml is told of once', async (t) => {
  const tar = await tarOf([
    { name: '1.eml', content: MAIL },
    { name: 'INBOX/cur/1600000001.a:2,S', content: MAIL },
    { name: 'Archive.mbox', content: MBOX },
    { name: 'Work.mbox/Messages/1.emlx', content: `${MAIL.length}\n${MAIL}` },
    { name: 'Local Folders/Inbox', content: MBOX },
    { name: 'Local Folders/Sent', content: `From \r\n${MAIL}` },
    { name: 'mh/inbox/12', content: `X: 1\n${MAIL}` },
    { name: 'Empty.mbox', content: '' },
    { name: '._Archive.mbox', content: Buffer.of(0, 5, 0x16, 7) },
    { name: 'README', content: 'no mail' },
    { name: 'letter.txt', content: 'From here to there' }
  ])
  const source = await openSource(join(await folderOf(t, { 'a.tar': tar }), 'a.tar'))
  /** @type {string[]} */
  const outcomes = []
  for await (const item of source.items())
    outcomes.push(await collectBytes(item.open()).then(String, (error) => error.message))
  assert.deepEqual(outcomes, [MAIL, '6 files with mail that are no .eml: unpack it first'])
  assert.equal(source.ignoredCount, 4)
  for (const name of ['Takeout/All mail.mbox', 'Maildir/cur/1600000001.a:2,S']) {
    const folder = await folderOf(t, { 'a.tar': await tarOf([{ name, content: MBOX }]) })
    await assert.rejects(readAll(join(folder, 'a.tar')), {
      message: '1 files with mail that are no .eml: unpack it first'
    })
  }
})

test('a link in a tar and a sparse file are reported: their bytes are not the message', async (t) => {
  const pax = { 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0' }
  const tar = await tarOf([
    { name: '1.eml', content: MAIL },
    { name: '2.eml', content: '', type: 'link', linkname: '1.eml' },
    { name: '3.eml', content: '', type: 'symlink', linkname: '1.eml' },
    { name: 'GNUSparseFile.0/4.eml', content: `1\n0\n${MAIL}`, pax },
    { name: '5.eml', content: MAIL }
  ])
  const folder = await folderOf(t, { 'a.tar': tar })
  /** @type {string[]} */
  const outcomes = []
  for await (const item of (await openSource(join(folder, 'a.tar'))).items()) {
    outcomes.push(await collectBytes(item.open()).then(String, (error) => error.message))
  }
  assert.deepEqual(
    outcomes.map((outcome) => outcome.slice(0, 11)),
    [MAIL, 'a hard link', 'a link, which', 'no ordinary file', MAIL].map((text) =>
      text.slice(0, 11)
    )
  )
})

test('a tar as the oldest program writes it is read', async (t) => {
  const tar = await tarOf([{ name: '1.eml', content: MAIL }])
  // Without `ustar` and what follows it; the checksum is told anew.
  tar.fill(0, 257, 512)
  tar.fill(' ', 148, 156)
  const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  const folder = await folderOf(t, { 'a.tar': tar })
  assert.equal((await readAll(join(folder, 'a.tar')))[0]?.text, MAIL)
})

test('a member of a tar that is not read to its end does not disturb the next', async (t) => {
  const content = Buffer.alloc(2_000_000, 'x\n')
  const members = ['1.eml', '2.eml', '3.eml'].map((name) => ({ name, content }))
  const folder = await folderOf(t, { 'a.tar.gz': gzipSync(await tarOf(members)) })
  const source = await openSource(join(folder, 'a.tar.gz'))
  let count = 0
  for await (const item of source.items()) {
    count++
    if (count === 2) continue
    assert.ok((await firstChunk(item)).length > 0)
  }
  assert.equal(count, 3)
})

/** @type {[string, (whole: Buffer) => Buffer][]} */
const DAMAGES = [
  ['cut off', (whole) => whole.subarray(0, whole.length - 3000)],
  [
    'with a broken middle',
    (whole) => Buffer.concat([whole.subarray(0, 6000), Buffer.alloc(500), whole.subarray(6500)])
  ]
]

for (const [what, damage] of DAMAGES) {
  test(`a gzip that is ${what} gives what stands before the damage, and an error`, async (t) => {
    const noise = createHash('shake256', { outputLength: 20_000 }).update('x').digest('base64')
    const members = ['1.eml', '2.eml'].map((name) => ({ name, content: noise }))
    const line = 'From a@b Wed Jul  1 05:04:01 2020\n'
    const mbox = Buffer.from(`${line}A: b\n\n${noise}\n\n`.repeat(2))
    const folder = await folderOf(t, {
      tar: damage(gzipSync(await tarOf(members))),
      mbox: damage(gzipSync(mbox))
    })
    for (const name of ['tar', 'mbox']) {
      await assert.rejects(readAll(join(folder, name)), (error) => error instanceof Error)
    }
  })
}

/**
 * @param {number} kind - of 16
 * @param {number} length
 * @returns {Buffer} a skippable frame of zstd
 */
function skippable(kind, length) {
  const frame = Buffer.alloc(8 + length, 'x')
  frame.writeUInt32LE(0x184d2a50 + kind, 0)
  frame.writeUInt32LE(length, 4)
  return frame
}

const zstd = (/** @type {string | Buffer} */ bytes) => zstdCompressSync(Buffer.from(bytes))

test('a zstd in several frames is read to its end, past skippable frames', async (t) => {
  const tar = await tarOf([
    { name: '1.eml', content: MAIL },
    { name: '2.eml', content: randomBytes(200_000) }
  ])
  const line = 'From a@b Wed Jul  1 05:04:01 2020\n'
  const frames = [1, 2, 3].map((number) => zstd(`${line}A: ${number}\n\n`))
  const folder = await folderOf(t, {
    mbox: Buffer.concat(frames),
    'pzstd.mbox': Buffer.concat(frames.flatMap((frame) => [skippable(0, 4), frame])),
    'skip.mbox': Buffer.concat([skippable(15, 200_000), ...frames, skippable(7, 0)]),
    tar: Buffer.concat([zstd(tar.subarray(0, 700)), zstd(''), zstd(tar.subarray(700))]),
    'maildir/cur/1600000001.a:2,': Buffer.concat([zstd(MAIL), zstd('more\n')]),
    'maildir/new/.keep': ''
  })
  for (const name of ['mbox', 'pzstd.mbox', 'skip.mbox']) {
    const texts = (await readAll(join(folder, name))).map(({ text }) => text)
    assert.deepEqual(texts, ['A: 1\n', 'A: 2\n', 'A: 3\n'], name)
  }
  assert.deepEqual(
    (await readAll(join(folder, 'tar'))).map(({ text }) => text.length),
    [MAIL.length, 200_000]
  )
  assert.equal((await readAll(join(folder, 'maildir')))[0]?.text, `${MAIL}more\n`)
})

test('frames of zstd may end anywhere, also with a chunk of the file', async (t) => {
  const parts = [64 * 1024, 64 * 1024 - 1, 1, 128 * 1024 + 5, 10, 70_000, 65_536]
  const whole = parts.map((size) => randomBytes(size - Math.min(size - 1, 13)))
  const body = Buffer.concat([Buffer.from('A: b\n\n'), ...whole])
  const folder = await folderOf(t, {
    'cur/1600000001.a:2,': Buffer.concat([zstd('A: b\n\n'), ...whole.map(zstd)]),
    'new/.keep': ''
  })
  const [item] = await readAll(folder)
  assert.ok(Buffer.from(item?.text ?? '', 'latin1').equals(body))
})

test('a zstd with something else behind a frame, or with half a frame, is an error', async (t) => {
  const mbox = zstd(MBOX)
  const half = zstd(randomBytes(1000)).subarray(0, 500)
  const folder = await folderOf(t, {
    text: Buffer.concat([mbox, Buffer.from('no frame')]),
    byte: Buffer.concat([mbox, Buffer.of(0x28)]),
    half: Buffer.concat([mbox, half]),
    skipped: Buffer.concat([mbox, skippable(0, 100).subarray(0, 50)])
  })
  for (const name of ['text', 'byte', 'half', 'skipped'])
    await assert.rejects(readAll(join(folder, name)), /frame descriptor|end of file/, name)
})

test('leaving a source early closes it', async (t) => {
  const folder = await folderOf(t, {
    'a.tar': await tarOf([{ name: '1.eml', content: MAIL }]),
    mbox: MBOX,
    'mbox.zst': Buffer.concat([zstd(MBOX), zstd(MBOX)])
  })
  for (const name of ['a.tar', 'mbox', 'mbox.zst']) {
    const source = await openSource(join(folder, name))
    const items = source.items()
    assert.equal((await items.next()).done, false)
    await items.return(undefined)
  }
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

test('a packed message is unpacked, by itself and in a folder', async (t) => {
  const folder = await folderOf(t, {
    'one.eml.gz': gzipSync(MAIL),
    'sub/2.eml': gzipSync(MAIL),
    'sub/3.eml': zstdCompressSync(MAIL)
  })
  for (const [place, count] of /** @type {const} */ ([
    ['one.eml.gz', 1],
    ['sub', 2]
  ])) {
    const items = await readAll(join(folder, place))
    assert.deepEqual(
      items.map(({ text }) => text),
      Array.from({ length: count }, () => MAIL)
    )
  }
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

test('a folder or a tar of files none of which is a message fails, an empty folder does not', async (t) => {
  const folder = await folderOf(t, {
    'pictures/1.png': 'no mail',
    'empty/below/.keep': '',
    'a.tar': await tarOf([{ name: 'pictures/1.png', content: 'no mail' }])
  })
  await rm(join(folder, 'empty/below/.keep'))
  for (const name of ['pictures', 'a.tar']) {
    await assert.rejects(readAll(join(folder, name)), (error) =>
      isMailError(error, 'FORMAT_UNKNOWN')
    )
  }
  assert.deepEqual(await readAll(join(folder, 'empty')), [])
})

test('a source that is not there is an error of the file system', async (t) => {
  const folder = await folderOf(t, {})
  await assert.rejects(openSource(join(folder, 'nowhere')), { code: 'ENOENT' })
})

test(
  'the archives of the corpus give every message, byte for byte',
  { skip: corpusIsMissing },
  async () => {
    const everyday = new URL('../../../../shared/corpus/everyday/', import.meta.url)
    const hashes = new Map(
      readManifest('everyday/manifest.tsv').map((row) => [row.file, row.sha256])
    )
    const source = await openSource(new URL('cake.tar.gz', everyday).pathname)
    let count = 0
    for await (const item of source.items()) {
      const hash = createHash('sha256')
      for await (const chunk of item.open()) hash.update(chunk)
      assert.equal(hash.digest('hex'), hashes.get(item.name.split(': ')[1]))
      count++
    }
    assert.equal(count, 252)
  }
)

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
