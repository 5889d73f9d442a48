/**
 * Changes the keys of a mailbox with mail in it, and reads what tests check afterwards.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { changePassword } from '../../src/accounts/change-password.js'
import { rekeyAccount } from '../../src/accounts/rekey.js'
import { isMailError } from '../../src/errors.js'
import { drainInto, logIn, withStore } from './accounts.js'
import { writeSpoolFile } from './spool.js'
import { appendAll } from './temporary-store.js'

/**
 * @typedef {import('../../src/accounts/services.js').AccountServices} AccountServices
 * @typedef {import('../../src/accounts/directory-port.js').Account} Account
 * @typedef {import('../../src/errors.js').ErrorCode} ErrorCode
 */

export const MAIL = Buffer.from(
  'From: bert@example.org\r\nSubject: hello\r\n\r\nStays as it is.\r\n'
)
export const OLD = 'old secret'
export const NEW = 'new secret'

/**
 * @param {Promise<unknown>} attempt
 * @param {ErrorCode} code
 */
export async function assertRefused(attempt, code) {
  await assert.rejects(attempt, (error) => {
    assert.ok(isMailError(error, code), `${error}`)
    return true
  })
}

/**
 * @param {AccountServices} services
 * @param {string} password
 */
export async function appendMail(services, password) {
  const { account, masterKey } = await logIn(services, password)
  await withStore(services, account, masterKey, (store) =>
    appendAll(store, 'INBOX', [{ bytes: MAIL }])
  )
  masterKey.dispose()
}

/**
 * @param {AccountServices} services
 * @param {string} password
 * @returns {Promise<string[]>} the messages of INBOX
 */
export async function readInbox(services, password) {
  const { account, masterKey } = await logIn(services, password)
  try {
    return await withStore(services, account, masterKey, async (store) => {
      const { mailbox, view } = await store.openView('INBOX')
      const uids = [...view.uids.subarray(0, view.length)]
      const messages = []
      for (const { contentId } of await store.readMessages(mailbox.id, uids, { row: true })) {
        const chunks = []
        for await (const chunk of store.readContent(contentId)) chunks.push(chunk)
        messages.push(Buffer.concat(chunks).toString())
      }
      store.closeView(view)
      return messages
    })
  } finally {
    masterKey.dispose()
  }
}

/**
 * @param {Account} account
 * @param {Buffer} [publicKey]
 */
export function deliver(account, publicKey = account.sealPublicKey) {
  return writeSpoolFile({
    spoolFolder: join(account.folder, 'spool'),
    publicKey,
    envelope: {
      sender: 'bert@example.org',
      recipient: account.address,
      receivedAtMs: 1_700_000_000_000
    },
    message: [MAIL]
  })
}

/**
 * @param {AccountServices} services
 * @param {string} password
 */
export async function drain(services, password) {
  const { account, masterKey } = await logIn(services, password)
  try {
    return await withStore(services, account, masterKey, (store) =>
      drainInto(services, account, masterKey, store)
    )
  } finally {
    masterKey.dispose()
  }
}

/**
 * @param {AccountServices} services
 * @param {Account} account
 * @param {string} oldSecret
 * @param {string} [newPassword]
 */
export function change(services, account, oldSecret, newPassword = NEW) {
  return changePassword({
    services,
    account,
    oldSecret: Buffer.from(oldSecret),
    newPassword: Buffer.from(newPassword)
  })
}

/**
 * @param {AccountServices} services
 * @param {Account} account
 * @param {string} [password]
 */
export function rekey(services, account, password = OLD) {
  return rekeyAccount({ services, account, password: Buffer.from(password) })
}

/** Names of the files of a mailbox that nobody has open. */
export const RESTING = ['mail.db', 'mail.lock', 'spool']

/**
 * The services with one step of the directory that never returns to its caller, as in a crash.
 *
 * @param {AccountServices} services
 * @param {'beginRekey' | 'finishRekey' | 'createAccount'} step
 * @param {'before' | 'after'} when
 * @returns {AccountServices}
 */
export function crashing(services, step, when) {
  const { directory } = services
  return {
    ...services,
    directory: {
      ...directory,
      [step]: async (/** @type {[any, any]} */ ...given) => {
        if (when === 'after') await directory[step](...given)
        throw new Error('the power is gone')
      }
    }
  }
}
