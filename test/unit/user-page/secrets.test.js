/**
 * What forms leave in memory once they are answered: no key, no code and no password, whatever became of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SecretBuffer } from '../../../src/crypto/secret-buffer.js'
import { FormBody } from '../../../src/user-page/form-body.js'
import { PASSWORD } from '../../helpers/server.js'
import { startUserPage } from '../../helpers/user-page.js'

const ALICE = 'alice@example.org'
const WRONG = 'a wrong one'
const settings = { 'auth.repeatLoginCache': false, 'accounts.lingerMs': 0 }
/** Of the right shape, and nobody's. */
const CODE = `llrec-${Array(4).fill('7777777').join('-')}`

/**
 * @param {import('node:test').TestContext} t
 * @returns {() => { secrets: number, fields: string[] }} of those that were made since, how many keys and codes are still
 *   there, and what was typed and is not zeroed
 */
function watch(t) {
  const made = /** @type {const} */ (['alloc', 'random', 'copyOf']).map((name) =>
    t.mock.method(SecretBuffer, name)
  )
  const { mock: read } = t.mock.method(FormBody.prototype, 'secret')
  return () => ({
    secrets: made
      .flatMap(({ mock }) => mock.calls.map(({ result }) => result))
      .filter((secret) => secret?.isDisposed === false).length,
    fields: read.calls
      .map(({ result }) => /** @type {Buffer} */ (result).toString())
      .filter((typed) => !/^\0*$/.test(typed))
  })
}

const NOTHING = { secrets: 0, fields: [] }

test('neither a login nor a form that asks for a password leaves it, nor a key, behind', async (t) => {
  const server = await startUserPage(t, { settings })
  const app = await server.appPassword('alice', 'read-write')
  const left = watch(t)
  const [browser, stranger] = [server.browser(), server.browser()]
  const fields = { new: 'another secret', again: 'another secret' }
  const codeIn = (/** @type {string} */ text) => /<code>(llrec-[^<]+)/.exec(text)?.[1] ?? ''
  for (const password of [WRONG, app, CODE, PASSWORD]) await browser.logIn(ALICE, password)
  assert.deepEqual(left(), NOTHING)
  for (const [path, password, token] of /** @type {const} */ ([
    ['/recovery-code', WRONG, browser.token],
    ['/recovery-code', app, browser.token],
    ['/recovery-code', PASSWORD, 'of another session'],
    ['/app-passwords', PASSWORD, browser.token],
    ['/password', WRONG, browser.token]
  ])) {
    await browser.post(path, { ...fields, label: 'x', scope: 'read-only', password, token })
    assert.deepEqual([path, left()], [path, NOTHING])
  }
  const { text } = await browser.post('/recovery-code', { password: PASSWORD })
  for (const code of [WRONG, app, CODE, codeIn(text)]) {
    await stranger.post('/forgotten', { ...fields, address: ALICE, code })
    assert.deepEqual([code, left()], [code, NOTHING])
  }
  assert.equal((await stranger.logIn(ALICE, fields.new)).status, 303)
  const { status } = await stranger.post('/password', { ...fields, password: fields.new })
  assert.equal(status, 303)
  assert.deepEqual(left(), NOTHING)
})

test('a download leaves no key behind, nor one that is refused', async (t) => {
  const server = await startUserPage(t, { settings, users: ['alice', 'ben'] })
  const { directory } = server.services
  const [alice, ben] = [await server.accountId('alice'), await server.accountId('ben')]
  await directory.addAlias(alice, 'info@example.org')
  const [browser, member] = [server.browser(), server.browser()]
  await browser.logIn('info@example.org', PASSWORD)
  await member.logIn(ALICE, PASSWORD)
  await directory.removeAlias(alice, 'info@example.org')
  await directory.addAlias(ben, 'info@example.org')
  const left = watch(t)
  // Of another's account, one that is made, and one too many beside it.
  assert.equal((await browser.post('/download', { password: PASSWORD })).status, 403)
  assert.deepEqual(left(), NOTHING)
  const answers = await Promise.all(
    [1, 2].map(() => member.post('/download', { password: PASSWORD }))
  )
  assert.ok(answers.some(({ status }) => status === 200))
  while (server.openAccounts.isOpen(alice)) await sleep(5)
  assert.deepEqual(left(), NOTHING)
})
