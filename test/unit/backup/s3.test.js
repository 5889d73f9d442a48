import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import dns from 'node:dns'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { scratchFolder } from '../../helpers/account-folder.js'
import { freePort } from '../../helpers/free-port.js'
import { startFaultyLine } from '../../helpers/faulty-line.js'
import { S3_ENVIRONMENT, skipWithoutS3, startS3Server } from '../../helpers/s3-server.js'
import { listed, s3At } from '../../helpers/s3-target.js'

test(
  'object storage: a bucket that is not there, a wrong key, a server that is gone are all told',
  { skip: skipWithoutS3 },
  async (t) => {
    const server = await startS3Server(t)
    const unreachable = { code: 'BACKUP_UNREACHABLE' }
    const none = s3At(server.endpoint, { bucket: 'no-such-bucket' })
    await assert.rejects(none.get('x'), {
      ...unreachable,
      detail: /^s3:\/\/no-such-bucket\/host-1\/: NoSuchBucket: /
    })
    await assert.rejects(listed(none.list('x')), unreachable)
    await none.close()
    await server.stop()
    const gone = s3At(server.endpoint)
    await assert.rejects(gone.put('x', Buffer.alloc(1)), unreachable)
    await gone.close()
  }
)

test('object storage of which no address answers is told with what each attempt met', async (t) => {
  const port = await freePort()
  t.mock.method(
    dns,
    'lookup',
    (/** @type {string} */ _name, /** @type {any} */ _options, /** @type {any} */ done) =>
      done(
        null,
        ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
      )
  )
  const target = s3At(`http://storage.test:${port}`)
  await assert.rejects(target.get('x'), {
    code: 'BACKUP_UNREACHABLE',
    detail: new RegExp(
      `^s3://backups/host-1/: Error: connect ECONNREFUSED 127\\.0\\.0\\.1:${port}; Error: connect ECONNREFUSED 127\\.0\\.0\\.2:${port}$`
    )
  })
  await target.close()
})

test(
  'object storage: keys that are exchanged in ~/.aws are taken by a process that goes on',
  { skip: skipWithoutS3 },
  async (t) => {
    const { endpoint } = await startS3Server(t)
    const file = join(await scratchFolder(t), 'credentials')
    const { AWS_ACCESS_KEY_ID: key, AWS_SECRET_ACCESS_KEY: secret } = S3_ENVIRONMENT
    for (const name of Object.keys(S3_ENVIRONMENT)) delete process.env[name]
    process.env['AWS_SHARED_CREDENTIALS_FILE'] = file
    t.after(() => {
      Object.assign(process.env, S3_ENVIRONMENT)
      delete process.env['AWS_SHARED_CREDENTIALS_FILE']
    })
    const putWith = async (/** @type {string} */ text) => {
      await writeFile(
        file,
        `[default]\naws_access_key_id = ${key}\naws_secret_access_key = ${text}\n`
      )
      const target = s3At(endpoint)
      await target.put('keys/a', Buffer.from('1')).finally(() => target.close())
    }
    await assert.rejects(putWith('the one of before'), { code: 'BACKUP_UNREACHABLE' })
    await putWith(secret)
  }
)

test(
  'object storage is reached through a proxy, but for hosts that need none',
  { skip: skipWithoutS3 },
  async (t) => {
    const { endpoint } = await startS3Server(t)
    const line = await startFaultyLine(t, endpoint, () => 'pass')
    const proxies = { HTTP_PROXY: line.endpoint }
    // A name that nobody but the proxy knows.
    const target = s3At('http://objects.invalid', { proxies })
    // For one of 2 MiB and more the client would ask whether it may come, past the proxy.
    const bytes = Buffer.alloc(2 * 1024 * 1024 + 1, 'x')
    await target.put('keys/a', bytes)
    assert.deepEqual(await target.get('keys/a'), bytes)
    assert.equal(line.faults.length, 2)
    await target.close()
    const near = s3At(endpoint, { proxies: { ...proxies, NO_PROXY: '127.0.0.1' } })
    assert.deepEqual(await near.get('keys/a'), bytes)
    assert.equal(line.faults.length, 2)
    await near.close()
  }
)

test('a proxy whose URL is none is named without the password in it', async () => {
  for (const url of [
    'http://user:pass word@proxy x:1',
    'http://user:se/cret@proxy:1',
    'http://user:10%@proxy:1'
  ]) {
    const target = s3At('http://objects.invalid', { proxies: { HTTP_PROXY: url } })
    await assert.rejects(target.get('keys/a'), ({ detail, cause }) => {
      assert.match(detail, /^s3:\/\/backups\/host-1\/: HTTP_PROXY is no URL of a proxy/)
      return cause === undefined
    })
    await target.close()
  }
  const target = s3At('http://objects.invalid', {
    proxies: { HTTPS_PROXY: 'socks5://user:secret@proxy:1080' }
  })
  await assert.rejects(target.get('keys/a'), {
    detail:
      /: HTTPS_PROXY names a proxy of socks5:\/\/, and only those of http:\/\/ and https:\/\/ are known/
  })
  await target.close()
})

test('two hosts in one bucket see only their own prefix', { skip: skipWithoutS3 }, async (t) => {
  const { endpoint } = await startS3Server(t)
  const one = s3At(endpoint, { prefix: 'one/' })
  const two = s3At(endpoint, { prefix: 'two/' })
  await one.put('keys/a', Buffer.from('1'))
  assert.equal(await two.get('keys/a'), null)
  assert.deepEqual(await listed(two.list('')), [])
  await one.close()
  await two.close()
})

test(
  'object storage on a bad line: what is refused or cut is asked again',
  { skip: skipWithoutS3 },
  async (t) => {
    const { endpoint } = await startS3Server(t)
    const line = await startFaultyLine(t, endpoint, ({ number, method }) => {
      if (number % 3 === 1) return 'busy'
      return method === 'GET' && number % 3 === 2 ? 'cut' : 'pass'
    })
    const target = s3At(line.endpoint)
    const bytes = randomBytes(10 * 1024 * 1024)
    const path = join(await scratchFolder(t), 'large')
    await writeFile(path, bytes)
    await target.putFile('packs/aa/large.pack', path)
    assert.deepEqual(await target.get('packs/aa/large.pack'), bytes)
    assert.deepEqual(
      await target.getRange('packs/aa/large.pack', 5, 100_000),
      bytes.subarray(5, 100_005)
    )
    await target.close()
    assert.ok(line.faults.includes('busy'))
    assert.ok(line.faults.includes('cut'))
  }
)

test(
  'object storage never keeps bytes that were altered on the way',
  { skip: skipWithoutS3 },
  async (t) => {
    const { endpoint } = await startS3Server(t)
    const line = await startFaultyLine(t, endpoint, ({ method, bytes }) =>
      method === 'PUT' && bytes > 0 ? 'flip' : 'pass'
    )
    const target = s3At(line.endpoint)
    await assert.rejects(target.put('keys/a', randomBytes(1000)), { code: 'BACKUP_UNREACHABLE' })
    assert.equal(await target.size('keys/a'), null)
    const path = join(await scratchFolder(t), 'large')
    await writeFile(path, randomBytes(10 * 1024 * 1024))
    await assert.rejects(target.putFile('packs/aa/large.pack', path), {
      code: 'BACKUP_UNREACHABLE'
    })
    assert.equal(await target.size('packs/aa/large.pack'), null)
    await target.close()
    assert.ok(line.faults.includes('flip'))
  }
)

test(
  'object storage that falls silent is asked again, and told where it stays so',
  { skip: skipWithoutS3 },
  async (t) => {
    const { endpoint } = await startS3Server(t)
    let isDead = false
    /** @type {import('../../helpers/faulty-line.js').Fault[]} */
    const moods = ['silent', 'stall']
    const line = await startFaultyLine(t, endpoint, ({ method }) => {
      if (method !== 'GET') return 'pass'
      return isDead ? 'silent' : (moods.shift() ?? 'pass')
    })
    const target = s3At(line.endpoint, { silenceMs: 500 })
    await target.put('keys/a', Buffer.from('whole'))
    assert.deepEqual(await target.get('keys/a'), Buffer.from('whole'))
    assert.deepEqual(moods, [])
    isDead = true
    await assert.rejects(target.get('keys/a'), { code: 'BACKUP_UNREACHABLE' })
    await target.close()
  }
)

test(
  'object storage that lists something else, or does not find what it has just stored, is told',
  { skip: skipWithoutS3 },
  async (t) => {
    const { endpoint } = await startS3Server(t)
    const line = await startFaultyLine(t, endpoint, ({ method }) => {
      if (method === 'HEAD') return 'missing'
      return method === 'GET' ? 'page' : 'pass'
    })
    const target = s3At(line.endpoint)
    const path = join(await scratchFolder(t), 'small')
    await writeFile(path, 'whole')
    const unreachable = { code: 'BACKUP_UNREACHABLE' }
    await assert.rejects(target.putFile('packs/aa/small.pack', path), unreachable)
    await assert.rejects(listed(target.list('packs/')), unreachable)
    assert.equal(await target.size('packs/aa/small.pack'), null)
    await target.close()
  }
)

test('object storage that tells the checksum of the whole object with a range of it is read', async (t) => {
  const whole = randomBytes(1000)
  const sum = createHash('sha256').update(whole).digest('base64')
  const server = createServer(({ headers: { range } }, response) => {
    response.setHeader('x-amz-checksum-sha256', sum)
    response.writeHead(range === undefined ? 200 : 206)
    response.end(range === undefined ? whole : whole.subarray(10, 20))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const target = s3At(`http://127.0.0.1:${port}`)
  assert.deepEqual(await target.getRange('packs/a', 10, 10), whole.subarray(10, 20))
  assert.deepEqual(await target.get('packs/a'), whole)
  await target.close()
})

test('object storage whose list has no end is told', async (t) => {
  const page =
    '<ListBucketResult><Name>backups</Name><KeyCount>1</KeyCount><IsTruncated>true</IsTruncated>' +
    '<NextContinuationToken>same</NextContinuationToken>' +
    '<Contents><Key>host-1/packs/a</Key><Size>1</Size></Contents></ListBucketResult>'
  const server = createServer((_, response) => response.end(page)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const target = s3At(`http://127.0.0.1:${port}`)
  const objects = target.list('packs/')
  const next = async () => (await objects[Symbol.asyncIterator]().next()).value?.name
  assert.equal(await next(), 'packs/a')
  await assert.rejects(next(), { code: 'BACKUP_UNREACHABLE' })
  await target.close()
})
