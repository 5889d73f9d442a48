/**
 * After a restart the throttle knows again who has logged in from where: nobody behind the same address keeps them out.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rememberPlaces } from '../../../src/accounts/remember-places.js'
import { isMailError } from '../../../src/errors.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'

const OFFICE = '192.0.2.1'
const PASSWORD = 'old secret'
const DAY_MS = 24 * 60 * 60_000

/** @typedef {import('../../../src/accounts/services.js').AccountServices} AccountServices */

/**
 * @param {AccountServices} services
 * @param {string} username
 */
async function enter(services, username) {
  const { masterKey } = await logIn(services, PASSWORD, { username, remoteAddress: OFFICE })
  masterKey.dispose()
}

/**
 * Unchecked, so that nothing is slept for here.
 *
 * @param {AccountServices} services
 * @param {string} username
 */
async function assertHeld({ throttle }, username) {
  const attempt = { username, remoteAddress: OFFICE, password: Buffer.from(PASSWORD) }
  await assert.rejects(throttle.admitInTurn(attempt), (error) => isMailError(error, 'THROTTLED'))
}

/** @param {AccountServices} services */
async function guessFromOffice({ throttle }) {
  for (let nth = 0; nth < 10; nth++) {
    const input = {
      username: `guess${nth}`,
      remoteAddress: OFFICE,
      password: Buffer.from(`${nth}`)
    }
    const attempt = await throttle.admitInTurn(input)
    attempt.fail()
  }
}

test('who has logged in before the restart is let in by every name, while others from there are held', async (t) => {
  const { services, open } = await openTestAccounts(t)
  const { account } = await makeAccount(services, 'anna@example.org')
  await makeAccount(services, 'bert@example.org')
  await services.directory.addAlias(account.id, 'ann@example.org')
  await enter(services, 'anna')
  await services.close()

  const forgetful = await open()
  await guessFromOffice(forgetful)
  await assertHeld(forgetful, 'anna')
  await forgetful.close()

  const restarted = await open()
  await rememberPlaces({ services: restarted }).done
  await guessFromOffice(restarted)
  for (const name of ['anna', 'ann', 'Anna+list@example.org']) await enter(restarted, name)
  await assertHeld(restarted, 'bert')
})

test('a login of more than thirty days ago, and one of an account that is gone, count no more', async (t) => {
  const { services, open, clock } = await openTestAccounts(t)
  for (const name of ['anna', 'bert', 'carl']) await makeAccount(services, `${name}@example.org`)
  await enter(services, 'anna')
  clock.advance(31 * DAY_MS)
  for (const name of ['bert', 'carl']) await enter(services, name)
  const gone = await services.directory.findByAddress('carl')
  await services.directory.deleteAccount(gone?.id ?? '')
  await services.close()

  const restarted = await open()
  await rememberPlaces({ services: restarted }).done
  await guessFromOffice(restarted)
  await assertHeld(restarted, 'anna')
  await enter(restarted, 'bert')
  await makeAccount(restarted, 'carl@example.org')
  await assertHeld(restarted, 'carl')
})

test('thousands of logins are read while others are served, and the stop of the server ends that', async (t) => {
  const { services, open } = await openTestAccounts(t)
  const names = ['anna', 'bert']
  for (const name of names) await makeAccount(services, `${name}@example.org`)
  for (const name of names) {
    const account = await services.directory.findByAddress(name)
    const accountId = account?.id ?? ''
    for (let nth = 0; nth < 2000; nth++) {
      const remoteAddress = name === 'anna' ? OFFICE : `203.0.${nth >> 8}.${nth & 255}`
      services.directory.audit({ action: 'login', accountId, remoteAddress })
    }
    await services.directory.flush()
  }
  await services.close()

  const restarted = await open()
  const remembering = rememberPlaces({ services: restarted })
  let turns = 0
  const turning = setInterval(() => turns++, 0)
  await remembering.done
  clearInterval(turning)
  assert.ok(turns > 0)
  await guessFromOffice(restarted)
  await enter(restarted, 'anna')

  const stopped = await open()
  await rememberPlaces({ services: stopped }).stop()
  await guessFromOffice(stopped)
  await assertHeld(stopped, 'anna')
})
