/**
 * Sources of an import that are packed: tar, gzip, zstd, and what is broken in them.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { openSource } from '../../../src/import/open-source.js'
import { isMailError } from '../../../src/errors.js'
import { collectBytes } from '../../helpers/collect.js'
import { corpusIsMissing, readManifest } from '../../helpers/corpus.js'
import { firstChunk, folderOf, MAIL, MBOX, readAll } from '../../helpers/import-source.js'

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
  assert.deepEqual(outcomes, [MAIL, '6 files with mail, and not .eml: unpack it first'])
  assert.equal(source.ignoredCount, 4)
  for (const name of ['Takeout/All mail.mbox', 'Maildir/cur/1600000001.a:2,S']) {
    const folder = await folderOf(t, { 'a.tar': await tarOf([{ name, content: MBOX }]) })
    await assert.rejects(readAll(join(folder, 'a.tar')), {
      message: '1 file with mail, and not .eml: unpack it first'
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
