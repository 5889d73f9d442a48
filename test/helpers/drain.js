/**
 * An account's store and spool, for the tests of draining.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateSealIdentity, identityFromSecret } from '../../src/crypto/age.js'
import { drainSpool } from '../../src/delivery/drain.js'
import { createAccountStore, openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { silentLogger } from './delivery.js'
import { writeSpoolFile } from './spool.js'

const RECEIVED_AT_MS = 1_700_000_000_999

/**
 * A new account's store and spool.
 *
 * @param {import('node:test').TestContext} t
 * @param {{ quotaBytes?: number, maxMessageBytes?: number }} [config]
 */
export async function setUp(t, config = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-drain-'))
  const key = randomBytes(32)
  const { secret, publicKey } = generateSealIdentity()
  const identities = [identityFromSecret(secret)]
  const spoolFolder = join(folder, 'spool')
  const options = { folder, key, clock: systemClock, config }
  const store = await createAccountStore(options)
  const stores = [store]
  t.after(async () => {
    for (const each of stores) await each.close()
    rmSync(folder, { recursive: true })
  })
  return {
    folder,
    spoolFolder,
    store,
    publicKey,
    identities,
    reopen: async () => {
      const again = await openAccountStore(options)
      stores.push(again)
      return again
    },
    /** @param {string | Buffer} message */
    put: (message) =>
      writeSpoolFile({
        spoolFolder,
        publicKey,
        envelope: { recipient: 'ann@example.org', sender: '', receivedAtMs: RECEIVED_AT_MS },
        message: [Buffer.from(message)]
      }),
    /** @param {Partial<import('../../src/delivery/drain.js').DrainOptions>} [more] */
    drain: (more) => drainSpool({ spoolFolder, identities, store, logger: silentLogger, ...more })
  }
}

/** @param {import('../../src/store/account-store.js').AccountStore} store */
export async function readInbox(store) {
  const { view, mailbox } = await store.openView('INBOX')
  const uids = [...view.uids.subarray(0, view.length)]
  const records = await store.readMessages(mailbox.id, uids, { row: true })
  const messages = []
  for (const record of records) {
    const pieces = []
    for await (const piece of store.readContent(record.contentId, 0, record.size))
      pieces.push(piece)
    messages.push({ ...record, bytes: Buffer.concat(pieces) })
  }
  store.closeView(view)
  return messages
}

/** @param {import('../../src/store/account-store.js').AccountStore} store */
export const textsOf = async (store) =>
  (await readInbox(store)).map(({ bytes }) => bytes.toString())

/**
 * A store like the real one, with some methods replaced.
 *
 * @param {import('../../src/store/account-store.js').AccountStore} store
 * @param {Partial<import('../../src/delivery/drain.js').DrainStore>} changes
 * @returns {import('../../src/delivery/drain.js').DrainStore}
 */
export const altered = (store, changes) => ({
  stageContent: (options) => store.stageContent(options),
  appendMessages: (name, messages, options) => store.appendMessages(name, messages, options),
  listDrained: () => store.listDrained(),
  forgetDrained: (names) => store.forgetDrained(names),
  ...changes
})

export const NOTHING = { delivered: 0, setAside: 0, remaining: 0, stoppedBy: null }
