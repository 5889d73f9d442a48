import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Register } from '../../../src/cluster/register.js'

test('a worker is remembered once for an account, however often it says that it has it open', () => {
  const register = new Register()
  for (const path of ['one', 'two', 'one', 'two']) register.note('anna', path)
  /** @type {string[]} */
  const looked = []
  const find = (/** @type {string} */ taking) =>
    register.find('anna', (path) => {
      looked.push(path)
      return path === taking
    })
  assert.equal(find('two'), 'two')
  assert.equal(find('three'), null)
  assert.deepEqual(looked, ['one', 'two', 'one', 'two'])
  register.drop('anna', 'one')
  assert.equal(find('two'), 'two')
  assert.equal(looked.at(-2), 'two', 'the other is not looked at any more')
  register.drop('anna', 'two')
  assert.deepEqual([find('two'), register.size], [null, 0])
})
