/**
 * Who asks from another machine, over TLS: health and figures want the token of a whole host there.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:https'
import { test } from 'node:test'
import { startAdmin } from '../../helpers/admin.js'

const ELSEWHERE = '192.0.2.7'
const PATHS = ['/metrics', '/health/deep', '/health/maintenance']

test('from elsewhere health and metrics want a token that may read the whole host, and TLS', async (t) => {
  const { admin, ask, token, addAccount } = await startAdmin(t, {
    settings: { 'admin.isTls': true }
  })
  await addAccount('anna@example.org')
  const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
  admin.app.server.prependListener(
    'secureConnection',
    (/** @type {import('node:net').Socket} */ socket) => {
      Object.defineProperty(socket, 'remoteAddress', { value: ELSEWHERE })
    }
  )
  const statusOf = async (/** @type {string} */ path, bearer = '') => {
    const headers = bearer === '' ? {} : { authorization: `Bearer ${bearer}` }
    const where = { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }
    const [answer] = await once(get({ ...where, headers }), 'response')
    answer.resume()
    return [answer.statusCode, answer.headers['www-authenticate']]
  }
  const challenge = 'Bearer realm="letterlock"'
  const good = await token(['read'])
  const others = [await token(['accounts']), await token(['backups'])]
  const ofTenant = await token(['read'], 'example.org')
  for (const path of PATHS) {
    assert.deepEqual(await statusOf(path), [401, challenge])
    assert.deepEqual(await statusOf(path, 'lltok_x'), [401, `${challenge}, error="invalid_token"`])
    for (const other of others) {
      const refused = [403, `${challenge}, error="insufficient_scope"`]
      assert.deepEqual(await statusOf(path, other), refused)
    }
    assert.deepEqual(await statusOf(path, ofTenant), [403, undefined])
    assert.deepEqual(await statusOf(path, good), [200, undefined])
    // The same in the clear.
    assert.equal((await ask('GET', path, { token: good, remoteAddress: ELSEWHERE })).status, 403)
  }
  assert.deepEqual(await statusOf('/v1/token', ofTenant), [200, undefined])
  for (const path of ['/health/live', '/health/ready']) {
    assert.deepEqual(await statusOf(path), [200, undefined])
  }
})
