import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSettings } from '../../../config/check-settings.js'
import { SETTINGS } from '../../../config/default.js'

test('every number may be its least and its greatest, and none beyond; other texts only what they stand for', () => {
  /** @type {[string, import('../../../config/default.js').Setting][]} */
  const settings = Object.entries(SETTINGS)
  for (const [name, { value, minimum = 0, maximum = Infinity }] of settings) {
    if (typeof value !== 'number') continue
    for (const bound of [minimum, maximum].filter(Number.isFinite))
      assert.doesNotThrow(() => checkSettings({ [name]: bound }, 'test'), name)
    for (const beyond of [minimum - 1, maximum + 1].filter(Number.isFinite))
      assert.throws(() => checkSettings({ [name]: beyond }, 'test'), { code: 'CONFIG_INVALID' })
  }
  const endpoint = 'backup.s3.endpoint'
  assert.doesNotThrow(() => checkSettings({ [endpoint]: '' }, 'test'))
  for (const wrong of [{ [endpoint]: 'https://s3.example.org:port' }, { toString: 'x' }])
    assert.throws(() => checkSettings(wrong, 'test'), { code: 'CONFIG_INVALID' })
})
