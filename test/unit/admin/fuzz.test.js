/**
 * Every route of the OpenAPI document, with requests that fit it and requests that do not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { operationsOf, startAdmin } from '../../helpers/admin.js'
import { requestOf } from '../../helpers/openapi-arbitrary.js'

/** Requests for each operation. */
const RUNS = 60

test('no request makes a 500; answers are as the document says, errors are problems', async (t) => {
  const { ask, admin, services, token, addAccount, unexpected, logged } = await startAdmin(t)
  const account = await addAccount('anna@example.org')
  await services.directory.addAlias(account.id, 'info@example.org')
  const all = await token(['all'])
  const known = [
    account.id,
    'anna@example.org',
    'info@example.org',
    'example.org',
    'ben@example.net'
  ]
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  for (const operation of operationsOf(admin.app.swagger())) {
    const { responses, operationId, summary, tags, security } = operation.operation
    assert.ok(operationId && summary && tags, `${operation.path} is described`)
    assert.equal(security, undefined, 'no route is open without a token')
    await fc.assert(
      fc.asyncProperty(requestOf(operation, known), async ({ method, url, body }) => {
        const { status, body: answer, text, headers } = await ask(method, url, { token: all, body })
        const where = `${method} ${url} ${JSON.stringify(body)}: ${status} ${text}`
        assert.ok(status < 500, where)
        if (status >= 400) {
          assert.match(String(headers['content-type']), /^application\/problem\+json/, where)
          assert.equal(answer.status, status, where)
          return
        }
        const schema = responses[status]?.content?.['application/json']?.schema
        assert.ok(status === 204 || schema, `${where} is not in the document`)
        if (schema) assert.ok(ajv.validate(schema, answer), `${where} ${ajv.errorsText()}`)
      }),
      { numRuns: RUNS }
    )
  }
  assert.deepEqual(unexpected, [])
  assert.deepEqual(
    logged.filter((/** @type {any} */ { level }) => level === 'error'),
    []
  )
})

test('without a token nothing of /v1 answers but the document', async (t) => {
  const { ask, admin } = await startAdmin(t)
  for (const { method, path } of operationsOf(admin.app.swagger())) {
    const url = path.replaceAll(/\{\w+\}/g, '0123456789abcdef')
    assert.equal((await ask(method, url)).status, 401, `${method} ${path}`)
  }
  assert.equal((await ask('GET', '/v1/openapi.json')).status, 200)
  const page = await ask('GET', '/v1/docs/')
  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
})
