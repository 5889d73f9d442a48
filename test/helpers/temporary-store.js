import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'

/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @typedef {object} NewMail
 * @property {Buffer} bytes
 * @property {string[]} [flags]
 * @property {{ epochSeconds: number, zoneMinutes: number } | null} [internalDate]
 */

/** So many messages are appended in one transaction, as an import does. */
const BATCH = 100

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<import('../../src/store/account-store.js').StoreOptions>} [options]
 * @returns {Promise<AccountStore>} empty, in a folder of its own, gone after the test
 */
export async function temporaryStore(t, options = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'letterlock-store-'))
  const store = await createAccountStore({
    folder,
    key: randomBytes(32),
    clock: systemClock,
    ...options
  })
  t.after(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  return store
}

/**
 * @param {AccountStore} store
 * @param {string} mailbox
 * @param {NewMail[]} mails
 */
export async function appendAll(store, mailbox, mails) {
  for (let start = 0; start < mails.length; start += BATCH) {
    const messages = []
    for (const { bytes, flags = [], internalDate = null } of mails.slice(start, start + BATCH)) {
      const writer = await store.stageContent({ sizeHint: bytes.length })
      await writer.write(bytes)
      messages.push({ content: await writer.finish(), flags, internalDate })
    }
    await store.appendMessages(mailbox, messages)
  }
}
