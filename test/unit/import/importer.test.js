import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { isMailError } from '../../../src/errors.js'
import { collectBytes } from '../../helpers/collect.js'
import {
  corpusIsMissing,
  everydayMessages,
  tortureMessages,
  withCrlf
} from '../../helpers/corpus.js'
import { folderOf, importFrom, sha256, stored } from '../../helpers/import-source.js'
import { temporaryStore } from '../../helpers/temporary-store.js'

/** @typedef {{ name: string, bytes: Buffer }} Mail */

/**
 * Everyday mail as files have it: bare LF, here and there an mbox line in front.
 *
 * @param {number} every
 * @returns {{ mails: Mail[], files: Mail[] }}
 */
function sample(every) {
  const mails = [...everydayMessages({ every })]
  const files = mails.map(({ name, bytes }, index) => {
    const text = bytes.toString('latin1').replaceAll('\r\n', '\n')
    const line = index % 3 === 0 ? 'From someone@example.org Wed Jul  1 05:04:01 2020\n' : ''
    return { name: name.replace('/', '-'), bytes: Buffer.from(line + text, 'latin1') }
  })
  return { mails, files }
}

/** @type {Record<string, (folder: string, files: Mail[]) => Promise<string>>} */
const WRITERS = {
  'a folder of .eml files': async (folder, files) => {
    for (const [index, { name, bytes }] of files.entries()) {
      const place = join(folder, `${String(index).padStart(4, '0')}`)
      await mkdir(place)
      await writeFile(join(place, name), bytes)
    }
    return folder
  },
  'a Maildir': async (folder, files) => {
    for (const name of ['cur', 'new', 'tmp']) await mkdir(join(folder, name))
    for (const [index, { bytes }] of files.entries()) {
      const name = `${1_600_000_000 + index}.M${index}.host`
      const place = index % 2 ? join('cur', `${name}:2,S`) : join('new', name)
      await writeFile(join(folder, place), bytes)
    }
    return folder
  },
  'an mbox': async (folder, files) => {
    await writeFile(join(folder, 'mbox'), mboxOf(files))
    return join(folder, 'mbox')
  },
  'an .mbox.gz': async (folder, files) => {
    await writeFile(join(folder, 'mail.mbox.gz'), gzipSync(mboxOf(files)))
    return join(folder, 'mail.mbox.gz')
  },
  'a .tar.gz of .eml files': async (folder, files) => {
    const archive = pack()
    for (const { name, bytes } of files) archive.entry({ name }, bytes)
    archive.finalize()
    const bytes = await collectBytes(/** @type {AsyncIterable<Buffer>} */ (archive))
    await writeFile(join(folder, 'mail.tar.gz'), gzipSync(bytes))
    return join(folder, 'mail.tar.gz')
  }
}

/**
 * @param {Mail[]} files
 * @returns {Buffer} mboxrd
 */
function mboxOf(files) {
  const messages = files.map(({ bytes }) => {
    const text = bytes.toString('latin1').replace(/^From .*\n/, '')
    const quoted = text.replace(/^(>*From )/gm, '>$1')
    return `From someone@example.org Wed Jul  1 05:04:01 2020\n${quoted}${text.endsWith('\n') ? '' : '\n'}\n`
  })
  return Buffer.from(messages.join(''), 'latin1')
}

for (const [format, write] of Object.entries(WRITERS)) {
  test(
    `${format}: every message arrives byte for byte with CRLF, a second run imports nothing`,
    { skip: corpusIsMissing },
    async (t) => {
      const { mails, files } = sample(31)
      const path = await write(await folderOf(t), files)
      const store = await temporaryStore(t)
      const first = await importFrom(store, path)
      assert.deepEqual(first, { imported: mails.length, skipped: 0, failed: 0, failures: [] })
      const hashes = (await stored(store)).map(({ hash }) => hash)
      // An mbox cannot tell whether the last line had an end.
      const whole = (/** @type {Buffer} */ bytes) =>
        format.includes('mbox') && !bytes.toString('latin1').endsWith('\n')
          ? Buffer.concat([bytes, Buffer.from('\r\n')])
          : bytes
      assert.deepEqual(
        hashes,
        mails.map(({ bytes }) => sha256(whole(bytes)))
      )
      const second = await importFrom(store, path)
      assert.deepEqual(second, { imported: 0, skipped: mails.length, failed: 0, failures: [] })
    }
  )
}

test(
  'all everyday messages go in and come out with their SHA-256',
  { skip: corpusIsMissing },
  async (t) => {
    const store = await temporaryStore(t)
    const everyday = new URL('../../../../shared/corpus/everyday/', import.meta.url)
    const packs = ['bounces', 'spamassassin-ham', 'cake', 'blinux-list', 'linux-mips', 'usrp-users']
    const startedMs = Date.now()
    let imported = 0
    for (const name of packs) {
      const summary = await importFrom(store, new URL(`${name}.tar.gz`, everyday).pathname)
      assert.equal(summary.failed, 0)
      imported += summary.imported
    }
    const seconds = (Date.now() - startedMs) / 1000
    t.diagnostic(
      `${imported} messages in ${seconds.toFixed(1)} s: ${Math.round(imported / seconds)} messages/s`
    )
    assert.equal(imported, 4300)
    const expected = [...everydayMessages()].map(({ bytes }) => sha256(bytes)).sort()
    const found = (await stored(store)).map(({ hash }) => hash).sort()
    assert.deepEqual(found, expected)
  }
)

test('the torture messages go in as they are', { skip: corpusIsMissing }, async (t) => {
  const folder = await folderOf(t)
  const mails = [...tortureMessages()]
  for (const [index, { bytes }] of mails.entries()) {
    await writeFile(join(folder, `${String(index).padStart(4, '0')}.eml`), bytes)
  }
  const store = await temporaryStore(t)
  const { imported, failed } = await importFrom(store, folder, { isAsIs: true })
  assert.deepEqual({ imported, failed }, { imported: mails.length, failed: 0 })
  const found = (await stored(store)).map(({ hash }) => hash)
  assert.deepEqual(
    found,
    mails.map(({ bytes }) => sha256(bytes))
  )
})

const MAIL = Buffer.from('Subject: x\nDate: Thu, 2 Jul 2020 08:00:00 +0200\n\nbody\n')

test('line ends stay on request, and the mbox line stays only with the exact bytes', async (t) => {
  const folder = await folderOf(t)
  const line = Buffer.from('From a@b Wed Jul  1 05:04:01 2020\n')
  await writeFile(join(folder, '1.eml'), Buffer.concat([line, MAIL]))
  const store = await temporaryStore(t)
  await importFrom(store, folder)
  await importFrom(store, folder, { keepLineEnds: true })
  await importFrom(store, folder, { isAsIs: true })
  const hashes = (await stored(store)).map(({ hash }) => hash)
  const expected = [withCrlf(MAIL), MAIL, Buffer.concat([line, MAIL])]
  assert.deepEqual(hashes, expected.map(sha256))
})

test('the internal date is the format’s, the mbox line’s, the Date header’s, the file’s, in this order', async (t) => {
  const folder = await folderOf(t)
  const line = 'From a@b Wed Jul  1 05:04:01 2020\n'
  const files = {
    '1.eml': `${line}${MAIL}`,
    '2.eml': String(MAIL),
    '3.eml': 'Subject: no date\n\n',
    '4.eml': 'Date: Thu, 2 Jul 2990 08:00:00 +0200\n\n'
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const store = await temporaryStore(t)
  const nowMs = Date.now()
  await importFrom(store, folder)
  const dates = (await stored(store)).map(({ internalDate }) => internalDate)
  assert.deepEqual(dates[0], {
    epochSeconds: Date.parse('2020-07-01T05:04:01Z') / 1000,
    zoneMinutes: 0
  })
  assert.deepEqual(dates[1], {
    epochSeconds: Date.parse('2020-07-02T06:00:00Z') / 1000,
    zoneMinutes: 120
  })
  for (const date of dates.slice(2))
    assert.ok(Math.abs((date?.epochSeconds ?? 0) - nowMs / 1000) < 3600)
})

test('flags come along, and subfolders of a Maildir become mailboxes, subscribed ones', async (t) => {
  const folder = await folderOf(t)
  for (const name of ['cur', 'new', '.Sent/cur', '.Sent/new']) {
    await mkdir(join(folder, name), { recursive: true })
  }
  await writeFile(join(folder, 'cur/1600000000.a:2,FS'), MAIL)
  await writeFile(join(folder, '.Sent/cur/1600000001.b:2,R'), MAIL)
  const store = await temporaryStore(t)
  const { imported } = await importFrom(store, folder, { mailbox: 'Old' })
  assert.equal(imported, 2)
  assert.deepEqual(
    (await stored(store, 'Old')).map(({ flags }) => flags),
    [1 | 4]
  )
  assert.deepEqual(
    (await stored(store, 'Old/Sent')).map(({ flags }) => flags),
    [2]
  )
  const subscribed = (await store.listSubscriptions()).filter((name) => name.startsWith('Old'))
  assert.deepEqual(subscribed, ['Old', 'Old/Sent'])
})

test('a name that is not composed is that of the mailbox which mail programs find', async (t) => {
  const folder = await folderOf(t)
  const store = await temporaryStore(t)
  await writeFile(join(folder, '1.eml'), 'Subject: one\r\n\r\n')
  for (const imported of [1, 0]) {
    const summary = await importFrom(store, folder, { mailbox: 'Entwu\u0308rfe' })
    assert.deepEqual({ ...summary, skipped: 0 }, { imported, skipped: 0, failed: 0, failures: [] })
  }
  assert.equal((await store.mailboxStatus('Entw\u00fcrfe')).messageCount, 1)
})

test('a mailbox below INBOX is one, whatever the case of inbox; a / at the end of a name is none', async (t) => {
  const folder = await folderOf(t)
  const store = await temporaryStore(t)
  await writeFile(join(folder, '1.eml'), MAIL)
  for (const mailbox of ['inbox/Sub', 'INBOX/Sub', 'Inbox/Sub/']) {
    const { failures, imported, skipped } = await importFrom(store, folder, { mailbox })
    assert.deepEqual([failures, imported + skipped], [[], 1], mailbox)
  }
  assert.equal((await store.mailboxStatus('INBOX/Sub')).messageCount, 1)
})

test('bad messages are reported with their places, and the others go in', async (t) => {
  const folder = await folderOf(t)
  for (const name of ['1.eml', '3.eml', '6.eml']) await writeFile(join(folder, name), MAIL)
  await symlink(join(folder, 'nowhere'), join(folder, '2.eml'))
  await writeFile(join(folder, '4.eml'), '')
  await writeFile(join(folder, '5.eml'), Buffer.alloc(2_000_000, 'x\n'))
  const store = await temporaryStore(t, { config: { maxMessageBytes: 1_000_000 } })
  const { failures, ...summary } = await importFrom(store, folder)
  assert.deepEqual(summary, { imported: 3, skipped: 0, failed: 3 })
  assert.deepEqual(
    failures.map(({ name }) => name),
    ['2.eml', '4.eml', '5.eml']
  )
  assert.match(String(failures[0]?.error), /ENOENT/)
  assert.ok(isMailError(failures[1]?.error, 'MESSAGE_EMPTY'))
  assert.ok(isMailError(failures[2]?.error, 'TOO_BIG'))
  const again = await importFrom(store, folder)
  assert.equal(again.skipped, 3)
})

test('a damaged archive gives what stands before the damage, and reports', async (t) => {
  const folder = await folderOf(t)
  const archive = pack()
  const mbox = []
  for (let n = 0; n < 30; n++) {
    const noise = createHash('shake256', { outputLength: 30_000 }).update(`${n}`).digest('base64')
    const text = `Subject: ${n}\n\n${noise}\n`
    archive.entry({ name: `${n}.eml` }, text)
    mbox.push(`From a@b Wed Jul  1 05:04:01 2020\n${text}\n`)
  }
  archive.finalize()
  const tar = await collectBytes(/** @type {AsyncIterable<Buffer>} */ (archive))
  for (const [name, bytes] of Object.entries({ tar, mbox: Buffer.from(mbox.join('')) })) {
    const packed = gzipSync(bytes)
    await writeFile(join(folder, name), packed.subarray(0, packed.length / 2))
    const store = await temporaryStore(t)
    const { imported, failures } = await importFrom(store, join(folder, name))
    assert.ok(imported >= 10 && imported < 30, `${imported} imported`)
    assert.equal(failures.length, 2, 'the message that is cut off, and the archive')
    assert.equal(failures[1]?.name, name)
  }
})

test('a run that is called off stores what it has read, and the next one goes on', async (t) => {
  const folder = await folderOf(t)
  for (let n = 0; n < 250; n++) await writeFile(join(folder, `${n}.eml`), `Subject: ${n}\n\nbody\n`)
  const store = await temporaryStore(t)
  const controller = new AbortController()
  let seen = 0
  const first = await importFrom(store, folder, {
    signal: controller.signal,
    onProgress: () => {
      if (++seen === 130) controller.abort()
    }
  })
  assert.equal(first.imported, 130)
  const second = await importFrom(store, folder)
  assert.deepEqual([second.imported, second.skipped], [120, 130])
})

test('equal messages at different places are different messages', async (t) => {
  const folder = await folderOf(t)
  await writeFile(join(folder, '1.eml'), MAIL)
  await writeFile(join(folder, '2.eml'), MAIL)
  const store = await temporaryStore(t)
  assert.equal((await importFrom(store, folder)).imported, 2)
  assert.equal((await importFrom(store, folder, { mailbox: 'Other' })).imported, 2)
})

test('messages of an mbox stay those that they are when others are deleted from it, equal ones too', async (t) => {
  const path = join(await folderOf(t), 'mbox')
  const bodies = ['one', 'same', 'two', 'same', 'three']
  const mboxWith = (/** @type {string[]} */ texts) => {
    const from = 'From someone@example.org Wed Jul  1 05:04:01 2020'
    return texts.map((text) => `${from}\nSubject: ${text}\n\n${text}\n\n`).join('')
  }
  const store = await temporaryStore(t)
  await writeFile(path, mboxWith(bodies))
  assert.equal((await importFrom(store, path)).imported, 5)
  await writeFile(path, mboxWith([...bodies.slice(1), 'four', 'same']))
  const { imported, skipped } = await importFrom(store, path)
  assert.deepEqual([imported, skipped], [2, 4])
  assert.equal((await stored(store)).length, 7)
})

test('a full mailbox ends the run with OVER_QUOTA after what fits', async (t) => {
  const folder = await folderOf(t)
  for (let n = 0; n < 9; n++) await writeFile(join(folder, `${n}.eml`), `Subject: ${n}\n\nbody\n`)
  const store = await temporaryStore(t, { config: { quotaMessages: 5 } })
  await assert.rejects(importFrom(store, folder), (error) => isMailError(error, 'OVER_QUOTA'))
  assert.equal((await stored(store)).length, 5)
})

test('when no keyword is free any more, messages come without new ones', async (t) => {
  const folder = await folderOf(t)
  const line = 'From a@b Wed Jul  1 05:04:01 2020\n'
  const messages = Array.from(
    { length: 70 },
    (_, n) => `${line}Status: R\nX-Keywords: word-0 word-${n}\n\n${n}\n\n`
  )
  await writeFile(join(folder, 'mbox'), messages.join(''))
  const store = await temporaryStore(t)
  const { imported, failed } = await importFrom(store, join(folder, 'mbox'))
  assert.deepEqual([imported, failed], [70, 0])
  const names = (await stored(store)).map(({ flags, keywords }) =>
    store.keywords.flagNames(flags, keywords).slice(0, 2)
  )
  assert.deepEqual(names, Array(70).fill(['\\Seen', 'word-0']))
})

test('a large message streams, is stored once, and comes back byte for byte', async (t) => {
  const folder = await folderOf(t)
  const large = Buffer.concat([MAIL, Buffer.alloc(9_000_001, 'a line of filler text\n')])
  for (const name of ['1.eml', '2.eml']) await writeFile(join(folder, name), large)
  const store = await temporaryStore(t)
  assert.equal((await importFrom(store, folder)).imported, 2)
  const second = await importFrom(store, folder)
  assert.deepEqual([second.imported, second.skipped], [0, 2])
  const hashes = (await stored(store)).map(({ hash }) => hash)
  assert.deepEqual(hashes, Array(2).fill(sha256(withCrlf(large))))
  assert.deepEqual((await store.verify(() => undefined)).problems, [])
})
