/** What an import reads of a Maildir. */
import assert from 'node:assert/strict'
import { rename, rm, symlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { FILES_AHEAD } from '../../../src/import/folder-entries.js'
import { openSource } from '../../../src/import/open-source.js'
import { collectBytes } from '../../helpers/collect.js'
import { folderOf, readAll } from '../../helpers/import-source.js'

const MAIL = 'Subject: one\n\nbody\n'

test('messages that Dovecot has packed are unpacked; what cannot be is reported, not stored', async (t) => {
  const folder = await folderOf(t, {
    'cur/1600000001.a:2,SZ': gzipSync(MAIL),
    'cur/1600000002.a:2,': zstdCompressSync(Buffer.from(MAIL)),
    'cur/1600000003.a:2,': Buffer.from('fd377a585a000004', 'hex'),
    'cur/1600000004.a:2,': Buffer.from('BZh91AY&SYxyz'),
    'new/.keep': ''
  })
  /** @type {string[]} */
  const outcomes = []
  for await (const item of (await openSource(folder)).items()) {
    outcomes.push(await collectBytes(item.open()).then(String, (error) => error.code))
  }
  assert.deepEqual(outcomes, [MAIL, MAIL, 'FORMAT_UNKNOWN', 'FORMAT_UNKNOWN'])
})

test('files that a mail program renames or deletes while they are read come as they are called then, or not', async (t) => {
  const folder = await folderOf(t, {
    'new/1600000001.a': 'read meanwhile',
    'cur/1600000002.a:2,': 'flagged meanwhile',
    'cur/1600000003.a:2,': 'deleted meanwhile',
    // So many are read ahead.
    ...Object.fromEntries(
      Array.from({ length: FILES_AHEAD }, (_, at) => [`cur/1600000003.${at}:2,`, 'of many'])
    ),
    'cur/1600000004.a:2,': 'flagged twice',
    '.Sub/cur/1600000005.a,S=4:2,': 'sub',
    '.Sub/new/.keep': '',
    '.Gone/cur/1600000006.a:2,': 'with its folder',
    '.Gone/new/.keep': ''
  })
  const source = await openSource(folder)
  const move = (/** @type {string} */ from, /** @type {string} */ to) =>
    rename(join(folder, from), join(folder, to))
  await move('new/1600000001.a', 'cur/1600000001.a:2,S')
  await move('cur/1600000002.a:2,', 'cur/1600000002.a:2,F')
  await move('cur/1600000004.a:2,', 'cur/1600000004.a:2,F')
  await move('.Sub/cur/1600000005.a,S=4:2,', '.Sub/cur/1600000005.a,S=4:2,T')
  await rm(join(folder, 'cur/1600000003.a:2,'))
  await rm(join(folder, '.Gone'), { recursive: true })
  /** @type {[string, string | undefined, string[]][]} */
  const found = []
  for await (const { importKeyParts, flags, open } of source.items()) {
    found.push([String(await collectBytes(open())), importKeyParts?.join('/'), flags])
    if (found.length === 1) await move('cur/1600000004.a:2,F', 'cur/1600000004.a:2,RF')
  }
  const isOfMany = (/** @type {typeof found[number]} */ [text]) => text === 'of many'
  assert.equal(found.filter(isOfMany).length, FILES_AHEAD)
  assert.deepEqual(
    found.filter((each) => !isOfMany(each)),
    [
      ['read meanwhile', '1600000001.a', ['\\Seen']],
      ['flagged meanwhile', '1600000002.a', ['\\Flagged']],
      ['flagged twice', '1600000004.a', ['\\Answered', '\\Flagged']],
      ['sub', 'Sub/1600000005.a,S=4', ['\\Deleted']]
    ]
  )
  assert.equal(source.position, source.total)
})

test('a link to a folder in a Maildir is told, and not followed', async (t) => {
  const folder = await folderOf(t, {
    'mail/cur/1600000001.a:2,': MAIL,
    'mail/new/.keep': '',
    'elsewhere/cur/1600000002.a:2,': MAIL
  })
  await symlink('../elsewhere', join(folder, 'mail/.Archive'))
  await symlink('../elsewhere/cur/1600000002.a:2,', join(folder, 'mail/a file'))
  /** @type {string[]} */
  const outcomes = []
  for await (const { name, open } of (await openSource(join(folder, 'mail'))).items()) {
    const outcome = await collectBytes(open()).then(String, ({ message }) => message)
    outcomes.push(`${name}: ${outcome}`)
  }
  assert.deepEqual(outcomes, [
    `cur/1600000001.a:2,: ${MAIL}`,
    '.Archive: a link to a folder; import what it leads to by itself'
  ])
})

test('a Maildir whose cur is a link is read through it; a subfolder that cannot be read is told, and no other kept back', async (t) => {
  const folder = await folderOf(t, {
    'mail/new/.keep': '',
    'mail/.Broken/cur/1600000001.a:2,': MAIL,
    'mail/.Broken/new': 'no folder',
    'mail/.Sent/cur/1600000002.a:2,': MAIL,
    'elsewhere/1600000003.a:2,': MAIL
  })
  await symlink('../elsewhere', join(folder, 'mail/cur'))
  /** @type {string[]} */
  const outcomes = []
  for await (const { name, open } of (await openSource(join(folder, 'mail'))).items()) {
    outcomes.push(
      await collectBytes(open()).then(
        () => name,
        ({ code }) => `${name}: ${code}`
      )
    )
  }
  assert.deepEqual(outcomes, [
    'cur/1600000003.a:2,',
    '.Broken: ENOTDIR',
    '.Sent/cur/1600000002.a:2,'
  ])
})

test('a folder with a file that is called new is no Maildir', async (t) => {
  const folder = await folderOf(t, { new: 'a list\n', '1.eml': MAIL })
  assert.deepEqual(
    (await readAll(folder)).map(({ text }) => text),
    [MAIL]
  )
})

test('a link to nowhere in a Maildir fails when it is read', async (t) => {
  const folder = await folderOf(t, { 'cur/.keep': '', 'new/.keep': '' })
  await symlink('nowhere', join(folder, 'cur/1600000001.a:2,'))
  await assert.rejects(readAll(folder), { code: 'ENOENT' })
})

test('keywords of a Maildir that IMAP cannot have are left out', async (t) => {
  const folder = await folderOf(t, {
    'cur/1600000001.a:2,abcde': MAIL,
    'new/.keep': '',
    'dovecot-keywords': '0 Gr\u00f6\u00dfe\n1 a)b\n2 Work\n3 "x"\n4 a[b\n102 Other\n'
  })
  const [item] = await readAll(folder)
  assert.deepEqual(item?.flags, ['Work', 'a[b'])
})

test('a Maildir gives flags, keywords and subfolders', async (t) => {
  const folder = await folderOf(t, {
    'cur/1600000001.M1P1.host:2,FS': 'flagged',
    'cur/1600000002.M1P1.host:2,DPRTab': 'many',
    'new/1600000003.M1P1.host': 'new',
    'cur/.hidden': 'no mail',
    'tmp/1600000004.M1P1.host': 'half delivered',
    'dovecot-keywords': '0 $Junk\n1 work\n',
    '.Sent/cur/1600000005.M1P1.host:2,S': 'sent',
    '.Sent/new/.keep': '',
    '.Lists.Caf&AOk-/new/1600000006.M1P1.host': 'list',
    '.Lists.Caf&AOk-/cur/.keep': '',
    '.other/file': 'no Maildir'
  })
  const items = await readAll(folder)
  assert.deepEqual(
    items.map(({ text, flags, folder: path }) => [text, flags, path]),
    [
      ['flagged', ['\\Flagged', '\\Seen'], []],
      ['many', ['\\Draft', '$Forwarded', '\\Answered', '\\Deleted', '$Junk', 'work'], []],
      ['new', [], []],
      ['list', [], ['Lists', 'Café']],
      ['sent', ['\\Seen'], ['Sent']]
    ]
  )
  const { format, ignoredCount } = await openSource(folder)
  assert.deepEqual([format, ignoredCount], ['maildir', 1])
})

test('a Maildir and its subfolders may lack cur or new, which were empty when they were copied', async (t) => {
  const folder = await folderOf(t, {
    'cur/1600000001.a:2,S': 'inbox',
    '.Sent/cur/1600000002.a:2,S': 'sent',
    '.Unread/new/1600000003.a': 'unread'
  })
  const read = async (/** @type {string} */ path) =>
    (await readAll(path)).map(({ text, folder: levels }) => [text, ...levels])
  assert.deepEqual(await read(folder), [['inbox'], ['sent', 'Sent'], ['unread', 'Unread']])
  assert.deepEqual(await read(join(folder, '.Sent')), [['sent']])
  assert.deepEqual(await read(join(folder, '.Unread')), [['unread']])
})

test('a Maildir without a message is one', async (t) => {
  const folder = await folderOf(t, { 'cur/.keep': '', 'new/.keep': '', 'notes.eml': MAIL })
  assert.equal((await openSource(folder)).format, 'maildir')
})

test('folders of .eml files may be called new or cur, or both', async (t) => {
  for (const other of ['cur-2', 'cur']) {
    const folder = await folderOf(t, {
      'new/1600000001.eml': 'one',
      [`${other}/2.eml`]: 'two',
      'INBOX/3.eml': 'three'
    })
    assert.equal((await openSource(folder)).format, 'folder')
    assert.equal((await readAll(folder)).length, 3)
  }
})

test('subfolders of a Maildir may be those of LAYOUT=fs; what lies in no Maildir is counted', async (t) => {
  const folder = await folderOf(t, {
    'cur/1600000001.a:2,a': 'inbox',
    'new/.keep': '',
    'tmp/1600000009.a': 'half delivered',
    'dovecot.index.log': '',
    'dovecot-keywords': '0 inbox\n',
    'Archive/cur/1600000002.a:2,a': 'archive',
    'Archive/dovecot-keywords': '0 archived\n',
    'Archive/v1.2/Caf&AOk-/new/1600000003.a': 'deep',
    'sieve/main.sieve': 'keep;',
    '.other/file': 'no Maildir',
    '.Sent/Below/cur/1600000004.a:2,': 'mixed'
  })
  const items = await readAll(folder)
  assert.deepEqual(
    items.map(({ name, flags, folder: levels }) => [name, flags, levels]),
    [
      ['cur/1600000001.a:2,a', ['inbox'], []],
      ['.Sent/Below/cur/1600000004.a:2,', [], ['Sent', 'Below']],
      ['Archive/cur/1600000002.a:2,a', ['archived'], ['Archive']],
      ['Archive/v1.2/Caf&AOk-/new/1600000003.a', [], ['Archive', 'v1.2', 'Caf\u00e9']]
    ]
  )
  assert.equal((await openSource(folder)).ignoredCount, 2)
})

test('the place of a message in a Maildir stays when it is read and flagged', async (t) => {
  const before = await folderOf(t, { 'new/1600000001.M1P1.host': 'x', 'cur/.keep': '' })
  const after = await folderOf(t, { 'cur/1600000001.M1P1.host:2,S': 'x', 'new/.keep': '' })
  const [first] = await readAll(before)
  const [second] = await readAll(after)
  assert.deepEqual(first?.importKeyParts, second?.importKeyParts)
})

test('the date in a Maildir is the earlier one of name and file time', async (t) => {
  const folder = await folderOf(t, {
    'cur/1600000001.copied:2,': 'x',
    'cur/1600000002.filed-older:2,': 'x',
    'cur/no-seconds:2,': 'x',
    'cur/of-20200703.day:2,': 'x',
    'new/.keep': ''
  })
  await utimes(join(folder, 'cur/1600000002.filed-older:2,'), 1, 1_200_000_000)
  await utimes(join(folder, 'cur/no-seconds:2,'), 1, 1_300_000_000)
  await utimes(join(folder, 'cur/of-20200703.day:2,'), 1, 1_400_000_000)
  const dates = (await readAll(folder)).map(({ internalDate }) => internalDate?.epochSeconds)
  assert.deepEqual(dates, [1_600_000_001, 1_200_000_000, 1_300_000_000, 1_400_000_000])
})
