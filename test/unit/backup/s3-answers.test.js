/**
 * What is believed of the answers of object storage, and what is asked of it.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { scratchFolder } from '../../helpers/account-folder.js'
import { listed, s3At } from '../../helpers/s3-target.js'

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string} url
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {string} body
 *
 * @typedef {{ status?: number, headers?: Record<string, string>, body?: string | Buffer }} Answer
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {(request: Request) => Answer} answerTo
 * @param {Partial<import('../../../src/backup/targets/s3.js').S3Settings>} [settings]
 */
async function storageThat(t, answerTo, settings) {
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const answer = answerTo({ method, url, headers, body: await text(request) })
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const target = s3At(`http://127.0.0.1:${port}`, { maxAttempts: 1, ...settings })
  t.after(async () => {
    await target.close()
    server.close()
  })
  return target
}

const UNREACHABLE = { code: 'BACKUP_UNREACHABLE' }

/** @param {string} fields */
const page = (fields) => `<ListBucketResult>${fields}</ListBucketResult>`

/** @param {string} key */
const row = (key) => `<Contents><Key>host-1/${key}</Key><Size>1</Size></Contents>`

test('a list is one that says so, and that tells where it goes on', async (t) => {
  /** @type {[string, string[] | null][]} */
  const pages = [
    ['<Name>backups</Name>', []],
    ['<KeyCount>0</KeyCount>', []],
    [`<IsTruncated>false</IsTruncated>${row('a')}`, ['a']],
    ['', null],
    [row('a'), null],
    [`<Name>backups</Name><IsTruncated>true</IsTruncated>${row('a')}`, null]
  ]
  for (const [fields, names] of pages) {
    const target = await storageThat(t, () => ({ body: page(fields) }))
    if (names === null) await assert.rejects(listed(target.list('')), UNREACHABLE, fields)
    else
      assert.deepEqual(
        (await listed(target.list(''))).map(({ name }) => name),
        names
      )
  }
})

test('more names than a page has are listed to the end, and removed in as many requests as it takes', async (t) => {
  const names = Array.from(
    { length: 2000 },
    (_, number) => `packs/${String(number).padStart(4, '0')}`
  )
  /** @type {number[]} */
  const removed = []
  const target = await storageThat(t, ({ method, url, body }) => {
    if (method === 'POST') {
      removed.push(body.split('<Key>host-1/packs/').length - 1)
      return { body: '<DeleteResult/>' }
    }
    const from = Number(new URL(url, 'http://x').searchParams.get('continuation-token') ?? 0)
    const next = from + 1000
    const isLast = next >= names.length
    const more = isLast ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`
    const fields = `<Name>backups</Name><IsTruncated>${!isLast}</IsTruncated>${more}`
    return { body: page(fields + names.slice(from, next).map(row).join('')) }
  })
  assert.deepEqual(
    (await listed(target.list('packs/'))).map(({ name }) => name),
    names
  )
  await target.remove(names)
  assert.deepEqual(removed, [1000, 1000])
})

test('what is not removed is told', async (t) => {
  const target = await storageThat(t, () => ({
    body: '<DeleteResult><Error><Key>host-1/keys/a</Key><Code>AccessDenied</Code></Error></DeleteResult>'
  }))
  await assert.rejects(target.remove(['keys/a']), { ...UNREACHABLE, detail: /AccessDenied/ })
})

test('a file that was stored with another size is told', async (t) => {
  const path = join(await scratchFolder(t), 'pack')
  await writeFile(path, 'whole')
  for (const size of [4, 5, 6]) {
    const target = await storageThat(t, ({ method }) =>
      method === 'HEAD' ? { headers: { 'content-length': String(size) } } : {}
    )
    if (size === 5) await target.putFile('packs/a', path)
    else await assert.rejects(target.putFile('packs/a', path), UNREACHABLE)
  }
})

test('every object is sent with its checksum, and read whole only with the one that belongs to it', async (t) => {
  const sumOf = (/** @type {string} */ bytes) => createHash('sha256').update(bytes).digest('base64')
  /** @type {unknown[]} */
  const sent = []
  let stored = 'whole'
  const target = await storageThat(t, ({ method, headers }) => {
    if (method === 'PUT') sent.push(headers['x-amz-checksum-sha256'])
    const isAsked = headers['x-amz-checksum-mode'] === 'ENABLED'
    if (method !== 'GET') return { headers: { 'content-length': method === 'HEAD' ? '5' : '0' } }
    return { body: stored, headers: isAsked ? { 'x-amz-checksum-sha256': sumOf('whole') } : {} }
  })
  const path = join(await scratchFolder(t), 'pack')
  await writeFile(path, 'whole')
  await target.put('keys/a', Buffer.from('whole'))
  await target.putFile('packs/a', path)
  assert.deepEqual(sent, [sumOf('whole'), sumOf('whole')])
  assert.equal(String(await target.get('keys/a')), 'whole')
  stored = 'whale'
  await assert.rejects(target.get('keys/a'), UNREACHABLE)
})

test('a range is no longer and no shorter than was asked for, and an empty object is one', async (t) => {
  /** @type {Record<string, string>} */
  const ranges = { 'bytes=2-4': 'cde', 'bytes=3-3': 'd' }
  const target = await storageThat(t, ({ url, headers: { range = '' } }) =>
    url.includes('empty') ? {} : { status: 206, body: ranges[range] ?? 'abcdef' }
  )
  for (const [offset, length, bytes] of /** @type {const} */ ([
    [2, 3, 'cde'],
    [3, 1, 'd'],
    [0, 6, 'abcdef'],
    [3, 0, '']
  ]))
    assert.equal(String(await target.getRange('packs/a', offset, length)), bytes)
  for (const length of [5, 7])
    await assert.rejects(target.getRange('packs/a', 0, length), { code: 'BACKUP_DAMAGED' })
  assert.deepEqual(await target.get('keys/empty'), Buffer.alloc(0))
})

test('what is sent and read is held to the rate that is set', async (t) => {
  const bytes = Buffer.alloc(100_000)
  const path = join(await scratchFolder(t), 'pack')
  await writeFile(path, bytes)
  /** @type {Record<string, (target: import('../../../src/backup/targets/target.js').BackupTarget) => Promise<unknown>>} */
  const ways = {
    put: (target) => target.put('keys/a', bytes),
    putFile: (target) => target.putFile('packs/a', path),
    get: (target) => target.get('keys/a'),
    getRange: (target) => target.getRange('keys/a', 0, bytes.length)
  }
  for (const [name, work] of Object.entries(ways)) {
    const target = await storageThat(
      t,
      ({ method }) => {
        if (method === 'HEAD') return { headers: { 'content-length': String(bytes.length) } }
        return method === 'GET' ? { body: bytes } : {}
      },
      { bytesPerSecond: 250_000 }
    )
    const startedMs = performance.now()
    await work(target)
    // The first quarter of a second may pass at once.
    assert.ok(performance.now() - startedMs >= 140, name)
  }
})
