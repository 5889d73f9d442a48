import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PasswordTurns } from '../../../src/accounts/password-turns.js'

const HERE = {
  username: 'anna',
  password: Buffer.from('secret'),
  remoteAddress: '192.0.2.1'
}
const OPTIONS = { defaultDomain: 'example.org' }

test('equal passwords of one name and place come one after the other, those of others at once', async () => {
  const turns = new PasswordTurns(OPTIONS)
  /** @type {string[]} */
  const done = []
  const first = Promise.withResolvers()
  const work = (/** @type {string} */ name, /** @type {Promise<unknown>} */ until) => {
    return async (/** @type {{ hasWaited: boolean }} */ { hasWaited }) => {
      await until
      done.push(`${name} ${hasWaited}`)
    }
  }
  const asked = [
    turns.run(HERE, work('first', first.promise)),
    turns.run({ ...HERE, username: 'ANNA+1@Example.org' }, work('second', Promise.resolve()))
  ]
  await turns.run({ ...HERE, username: 'bert' }, work('bert', Promise.resolve()))
  await turns.run({ ...HERE, remoteAddress: null }, work('elsewhere', Promise.resolve()))
  await turns.run({ ...HERE, password: Buffer.from('guess') }, work('guess', Promise.resolve()))
  first.reject(new Error('wrong'))
  await assert.rejects(asked[0] ?? Promise.resolve(), /wrong/)
  await asked[1]
  await turns.run(HERE, work('later', Promise.resolve()))
  assert.deepEqual(done, [
    'bert false',
    'elsewhere false',
    'guess false',
    'second true',
    'later false'
  ])
})

test('more than a hundred that wait are refused, and all others have their turn', async () => {
  const turns = new PasswordTurns(OPTIONS)
  const asked = Array.from({ length: 102 }, () => turns.run(HERE, async () => 'done'))
  const answers = await Promise.allSettled(asked)
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 101)
  await assert.rejects(asked.at(-1) ?? Promise.resolve(), { code: 'THROTTLED' })
})
