/**
 * What an error becomes for whoever asked: its status, its name, and nothing that is meant for the log.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { createErrorHandler } from '../../../src/admin/problem.js'
import { ERROR_TABLE, MailError } from '../../../src/errors.js'
import { startAdmin } from '../../helpers/admin.js'
import { recordingLogger } from '../../helpers/log-lines.js'

/** @typedef {keyof typeof ERROR_TABLE} ErrorCode */

/** @type {ReadonlyMap<number, readonly ErrorCode[]>} */
const CODES_BY_STATUS = new Map([
  [404, ['ACCOUNT_NOT_FOUND', 'CREDENTIAL_NOT_FOUND', 'TENANT_NOT_FOUND']],
  [409, ['ACCOUNT_EXISTS', 'TENANT_EXISTS', 'TENANT_IN_USE', 'LIMIT']],
  [422, ['ADDRESS_INVALID', 'PASSWORD_REFUSED', 'LABEL_REFUSED']],
  [429, ['THROTTLED']],
  [507, ['DISK_FULL']]
])
const DETAIL = 'for the log alone'

test('an error of ours has the status of its kind and its name, and any other is a fault that the log knows by a reference', async () => {
  const { logger, lines } = recordingLogger()
  const app = fastify()
  app.setErrorHandler(createErrorHandler(logger))
  app.get('/:code', async ({ params }) => {
    const { code } = /** @type {{ code: ErrorCode | 'none' }} */ (params)
    throw code === 'none' ? new Error(DETAIL) : new MailError(code, { detail: DETAIL })
  })
  for (const [code, { temporary }] of Object.entries(ERROR_TABLE)) {
    const [own] =
      [...CODES_BY_STATUS].find(([, codes]) => codes.some((known) => known === code)) ?? []
    const status = own ?? (temporary ? 503 : 500)
    const { statusCode, payload } = await app.inject(`/${code}`)
    assert.deepEqual([code, statusCode], [code, status])
    assert.ok(!payload.includes(DETAIL), payload)
    const problem = JSON.parse(payload)
    if (status === 500) continue
    const name = code.toLowerCase().replaceAll('_', '-')
    assert.deepEqual([problem.code, problem.type], [code, `urn:letterlock:problem:${name}`])
  }
  lines.length = 0
  const { payload } = await app.inject('/none')
  const { status, type, reference } = JSON.parse(payload)
  assert.deepEqual([status, type, payload.includes(DETAIL)], [500, 'about:blank', false])
  assert.deepEqual(
    lines.map((line) => line['reference']),
    [reference]
  )
})

test('a request that does not fit is told which part of it, and a number is one in figures alone', async (t) => {
  const { ask, token } = await startAdmin(t)
  const all = { token: await token(['all']) }
  const body = { address: 'anna@example.org', password: 'x', quotaBytes: '5' }
  for (const [method, url, sent, part, path] of /** @type {const} */ ([
    ['POST', '/v1/accounts', body, 'body', '/quotaBytes'],
    ['GET', '/v1/accounts?limit=1e999', undefined, 'querystring', '/limit'],
    ['GET', '/v1/accounts?limit=', undefined, 'querystring', '/limit'],
    ['GET', '/v1/accounts?limit=0x10', undefined, 'querystring', '/limit'],
    ['GET', '/v1/accounts?limit=%205', undefined, 'querystring', '/limit'],
    ['GET', '/v1/accounts?offset=-1', undefined, 'querystring', '/offset'],
    ['GET', `/v1/accounts/${'x'.repeat(30)}`, undefined, 'params', '/accountId']
  ])) {
    const { status, body: problem } = await ask(method, url, { ...all, body: sent })
    assert.deepEqual([url, status, problem.errors?.[0]?.path], [url, 400, path])
    assert.match(problem.detail, new RegExp(`request’s ${part} is not valid`))
    assert.equal(problem.errors.length, 1)
  }
  assert.equal((await ask('GET', '/v1/accounts?limit=5&offset=0', all)).status, 200)
  // Figures where text is wanted stay text.
  assert.equal((await ask('GET', '/v1/accounts?search=2026', all)).status, 200)
  assert.equal((await ask('GET', '/v1/accounts/0123456789012345', all)).status, 404)
  // Of the first thing that does not fit: whoever sends ten thousand gets no answer of that length.
  const bare = await ask('POST', '/v1/accounts', { ...all, body: {} })
  assert.deepEqual([bare.status, bare.body.errors.length], [400, 1])
})

test('keys that contradict each other are told by the deep check', async (t) => {
  const { ask, services } = await startAdmin(t)
  services.directory.quickCheck = async () => ({ problems: [], misfits: ['ab', 'cd'], keyless: [] })
  const { status, body } = await ask('GET', '/health/deep')
  const check = body.checks.find((/** @type {any} */ { name }) => name === 'integrity')
  assert.deepEqual([status, check.status], [503, 'fail'])
  assert.match(check.text, /^2 accounts have keys that contradict .*, first ab:/)
})
