import { test } from 'node:test'
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection, createServer } from 'node:net'
import { once } from 'node:events'
import { fastify } from 'fastify'
import { createErrorHandler } from '../../../src/admin/problem.js'
import { ERROR_TABLE, MailError } from '../../../src/errors.js'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { startAdmin } from '../../helpers/admin.js'
import { checkIntervalOf } from '../../helpers/check-interval.js'
import { recordingLogger } from '../../helpers/log-lines.js'

const SECRET = 'quagga-0815'

test('live answers while the process runs; ready only while it serves', async (t) => {
  const { ask, state } = await startAdmin(t)
  const live = await ask('GET', '/health/live')
  assert.equal(live.status, 200)
  assert.equal(live.headers['cache-control'], 'no-store')
  const ready = await ask('GET', '/health/ready')
  assert.equal(ready.status, 200)
  const { status, sessions, openMailboxes, maintenanceRunning } = ready.body
  assert.deepEqual([status, sessions, openMailboxes, maintenanceRunning], ['ok', 0, 0, 0])
  state.isReady = false
  assert.equal((await ask('GET', '/health/ready')).status, 503)
})

test('maintenance tells its figures, and fails while a job of any mailbox fails', async (t) => {
  const { ask, services, accountId } = await startAdmin(t, { users: ['anna'] })
  const good = await ask('GET', '/health/maintenance')
  assert.equal(good.status, 200)
  assert.equal(good.body.status, 'ok')
  assert.equal(good.body.maintenanceRunning, 0)
  services.directory.recordMaintenance({
    accountId: await accountId('anna'),
    job: 'quick-check',
    state: { doneAtMs: null, failures: 2, failedCode: 'ACCOUNT_DAMAGED', nextTryAtMs: 7 },
    run: null
  })
  await services.directory.flush()
  const bad = await ask('GET', '/health/maintenance')
  assert.equal(bad.status, 503)
  assert.equal(bad.body.failingTotal, 1)
  assert.equal(bad.body.failing[0].code, 'ACCOUNT_DAMAGED')
})

test('every error is a problem: no token, a wrong one, no such path, no such method, no JSON, no HTTP', async (t) => {
  const { ask, token, admin } = await startAdmin(t)
  const all = await token(['all'])
  const cases = [
    { answer: await ask('GET', '/v1/accounts'), status: 401 },
    { answer: await ask('GET', '/v1/accounts', { token: 'lltok_wrong' }), status: 401 },
    { answer: await ask('POST', '/v1/maintenance', { body: {} }), status: 401 },
    { answer: await ask('GET', '/nothing/here'), status: 404 },
    { answer: await ask('GET', '/v1/nothing', { token: all }), status: 404 },
    { answer: await ask('PUT', '/v1/accounts', { token: all }), status: 405 },
    {
      answer: await ask('POST', '/v1/accounts', {
        token: all,
        body: `{"password":"${SECRET}`,
        headers: { 'content-type': 'application/json' }
      }),
      status: 400
    },
    {
      answer: await ask('POST', '/v1/accounts', {
        token: all,
        body: { address: 'a@b.c', password: SECRET.repeat(7000) }
      }),
      status: 413
    },
    {
      answer: await ask('POST', '/v1/accounts', {
        token: all,
        body: 'x',
        headers: { 'content-type': 'text/x-other' }
      }),
      status: 415
    },
    {
      answer: await ask('POST', '/v1/accounts', {
        token: all,
        body: '{"address":"anna@example.org","password":"secret"}',
        headers: { 'content-type': 'text/plain' }
      }),
      status: 415
    },
    {
      answer: await ask('POST', '/v1/accounts', { token: all, body: { address: 'a@b.c' } }),
      status: 400
    },
    { answer: await ask('GET', '/v1/accounts/0123456789abcdef', { token: all }), status: 404 },
    { answer: await ask('GET', '/v1/accounts/%E0%A4%A', { token: all }), status: 400 },
    { answer: await ask('GET', '/%zz'), status: 400 },
    { answer: await ask('GET', `/v1/accounts/${'a'.repeat(500)}`, { token: all }), status: 414 }
  ]
  for (const { answer, status } of cases) {
    assert.equal(answer.status, status, answer.text)
    assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
    assert.equal(answer.body.status, status)
    assert.ok(!answer.text.includes(SECRET), 'nothing of a request is repeated')
    assert.equal(typeof answer.body.title, 'string')
    assert.equal(typeof answer.body.type, 'string')
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(answer.headers['cache-control'], 'no-store')
  }
  assert.match(String(cases[0]?.answer.headers['www-authenticate']), /^Bearer/)
  assert.match(String(cases[5]?.answer.headers['allow']), /GET/)

  const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
  const socket = createConnection({ host: '127.0.0.1', port })
  socket.end('NONSENSE\r\n\r\n')
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  await once(socket, 'close')
  assert.match(text, /^HTTP\/1\.1 400 /)
  assert.match(text, /application\/problem\+json/)
  assert.match(text, /^X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n/m)
})

test('from elsewhere in the clear no token is taken, and health and metrics ask for one', async (t) => {
  const { ask, token } = await startAdmin(t)
  const all = await token(['all'])
  const remoteAddress = '192.0.2.7'
  assert.equal((await ask('GET', '/v1/accounts', { token: all, remoteAddress })).status, 403)
  assert.equal((await ask('GET', '/metrics', { token: all, remoteAddress })).status, 403)
  assert.equal((await ask('GET', '/health/deep', { remoteAddress })).status, 403)
  assert.equal((await ask('GET', '/health/live', { remoteAddress })).status, 200)
  assert.equal((await ask('GET', '/v1/accounts', { token: all })).status, 200)
})

test('the unix socket is for the server’s user alone, and serves the same', async (t) => {
  const { admin, data, token } = await startAdmin(t, { settings: { 'admin.socket': '/unused' } })
  const path = join(data, 'admin.sock')
  await writeFile(path, 'somebody’s')
  await assert.rejects(admin.listenOnSocket(path))
  assert.equal(await readFile(path, 'utf8'), 'somebody’s')
  await rm(path)
  // As a server that was killed leaves it.
  const killed = createServer().listen(`${path}.killed`)
  await once(killed, 'listening')
  await rename(`${path}.killed`, path)
  await once(killed.close(), 'close')
  await admin.listenOnSocket(path)
  assert.equal((await stat(path)).mode & 0o077, 0)
  const all = await token(['read'])
  const call = request({
    socketPath: path,
    path: '/v1/token',
    headers: { authorization: `Bearer ${all}` }
  })
  call.end()
  const [reply] = await once(call, 'response')
  assert.equal(reply.statusCode, 200)
  reply.resume()
})

test('HTTPS with the server’s certificate, where it is asked for, and with the one that it is exchanged for', async (t) => {
  const { admin, data } = await startAdmin(t, { settings: { 'admin.isTls': true } })
  const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
  const { get } = await import('node:https')
  const ask = async () => {
    const call = get({
      host: '127.0.0.1',
      port,
      path: '/health/live',
      rejectUnauthorized: false,
      agent: false
    })
    const [reply] = await once(call, 'response')
    assert.equal(reply.statusCode, 200)
    reply.resume()
    return reply.socket.getPeerCertificate().fingerprint256
  }
  const before = await ask()
  const certificate = await loadCertificate({
    folder: join(data, 'another-tls'),
    certificateFile: '',
    keyFile: '',
    clock: systemClock
  })
  admin.replaceCertificates({ main: certificate, others: [] })
  assert.notEqual(before, certificate.fingerprint)
  assert.equal(await ask(), certificate.fingerprint)
})

test('who is slow, or says too much, is not waited for, nor is there room for everybody', async (t) => {
  for (const isTls of [false, true]) {
    const { admin } = await startAdmin(t, { settings: { 'admin.isTls': isTls } })
    const { headersTimeout, requestTimeout, maxConnections } =
      /** @type {import('node:http').Server} */ (admin.app.server)
    assert.ok(headersTimeout > 0 && headersTimeout <= 10_000, `${headersTimeout}`)
    assert.ok(requestTimeout > 0 && requestTimeout <= 30_000, `${requestTimeout}`)
    assert.ok(maxConnections <= 500, `${maxConnections}`)
    assert.ok(checkIntervalOf(admin.app.server) <= 2_000)
  }
  const { admin } = await startAdmin(t)
  const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
  const socket = createConnection({ host: '127.0.0.1', port })
  socket.write(`GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  await once(socket, 'close')
  assert.match(text, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  assert.match(text, /"status":431/)
})

test('what passes by itself is answered as such, and is no fault for the log', async () => {
  const { logger, lines } = recordingLogger()
  const app = fastify()
  app.setErrorHandler(createErrorHandler(logger))
  app.get('/:code', async ({ params }) => {
    throw new MailError(/** @type {any} */ (params).code)
  })
  for (const [code, { temporary }] of Object.entries(ERROR_TABLE)) {
    if (!temporary) continue
    const { statusCode, headers } = await app.inject(`/${code}`)
    assert.match(String(statusCode), /^(429|503|507)$/, code)
    assert.equal(headers['retry-after'], statusCode === 503 ? '5' : undefined)
  }
  assert.deepEqual(lines, [])
})

test('the dashboard is found without the slash at its end', async (t) => {
  const { ask } = await startAdmin(t)
  for (const path of ['/', '/dashboard', '/dashboard?x']) {
    const { status, headers } = await ask('GET', path)
    assert.deepEqual([path, status, headers['location']], [path, 302, '/dashboard/'])
  }
  const { status, headers } = await ask('GET', '/dashboard/')
  assert.equal(status, 200)
  // A page with a token in it: no script of another place, and no word of it to another place.
  assert.equal(
    headers['content-security-policy'],
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  )
  assert.equal(headers['referrer-policy'], 'no-referrer')
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
})

test('the page to read the interface on loads from this server alone, also where that has no TLS', async (t) => {
  const { ask } = await startAdmin(t)
  const { status, headers } = await ask('GET', '/v1/docs')
  assert.equal(status, 200)
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /default-src 'none'.*script-src 'self'/)
  // A browser would ask for all files over HTTPS then, and show an empty page.
  assert.doesNotMatch(policy, /upgrade-insecure-requests|https:|swagger\.io/)
})
