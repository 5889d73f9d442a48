/**
 * What the operator is told when keys do not fit each other, and how often.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyAlarms } from '../../../src/accounts/key-alarms.js'
import { MailError } from '../../../src/errors.js'
import { recordingLogger } from '../../helpers/log-lines.js'

/** @typedef {import('../../../src/accounts/directory-port.js').Account} Account */

test('a lost pepper is an alarm once for each account, and hides no other alarm', async () => {
  /** @type {unknown[]} */
  const events = []
  const { logger, lines } = recordingLogger()
  const directory = {
    audit: (/** @type {any} */ { action, accountId, remoteAddress, detail }) =>
      events.push([action, accountId, remoteAddress, detail])
  }
  const alarms = new KeyAlarms({ directory, logger })
  const anna = /** @type {Account} */ ({ id: 'anna' })
  const bert = /** @type {Account} */ ({ id: 'bert' })
  const carl = /** @type {Account} */ ({ id: 'carl' })
  const steps = /** @type {[Account | null, Error][]} */ ([
    [anna, new MailError('PEPPER_MISSING', { detail: 'p1' })],
    [anna, new MailError('PEPPER_MISSING', { detail: 'p1' })],
    [bert, new MailError('PEPPER_MISSING', { detail: 'p1' })],
    [anna, new MailError('ACCOUNT_DAMAGED', { detail: 'a row' })],
    [anna, new MailError('ACCOUNT_DAMAGED', { detail: 'a row' })],
    [anna, new MailError('PEPPER_MISSING', { detail: 'p1' })],
    [carl, new MailError('ACCOUNT_DAMAGED')],
    [carl, new MailError('PEPPER_MISSING', { detail: 'p1' })],
    [null, new MailError('KEYS_CONTRADICT')],
    [anna, new MailError('AUTHENTICATION_FAILED')],
    [anna, new TypeError('a mistake')]
  ])
  for (const [account, error] of steps) {
    const failing = alarms.during({ account, remoteAddress: '192.0.2.1' }, async () => {
      throw error
    })
    await assert.rejects(failing, error)
  }
  assert.equal(await alarms.during({ account: anna, remoteAddress: null }, async () => 7), 7)
  const alarm = (/** @type {string | null} */ id, /** @type {string} */ code, reason = '') => [
    ...['key-alarm', id, '192.0.2.1'],
    { code, reason }
  ]
  const known = ['login-failed', 'anna', '192.0.2.1', { code: 'PEPPER_MISSING' }]
  assert.deepEqual(events, [
    alarm('anna', 'PEPPER_MISSING', 'p1'),
    known,
    alarm('bert', 'PEPPER_MISSING', 'p1'),
    alarm('anna', 'ACCOUNT_DAMAGED', 'a row'),
    alarm('anna', 'ACCOUNT_DAMAGED', 'a row'),
    known,
    alarm('carl', 'ACCOUNT_DAMAGED'),
    alarm('carl', 'PEPPER_MISSING', 'p1'),
    alarm(null, 'KEYS_CONTRADICT')
  ])
  assert.equal(lines.length, 7)
})
