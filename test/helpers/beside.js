/**
 * A look into a mailbox beside the server that has it open.
 */
import { deriveDatabaseKey } from '../../src/crypto/key-derivation.js'
import { mailFile } from '../../src/database/database-files.js'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { PASSWORD } from './server.js'

/** @param {import('./server.js').TestServer} server */
async function unlockAlice({ services }) {
  const { account, masterKey } = await services.unlocker.unlock({
    username: 'alice',
    password: Buffer.from(PASSWORD),
    remoteAddress: '127.0.0.1'
  })
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  return { folder: account.folder, key }
}

/**
 * @param {import('./server.js').TestServer} server
 * @returns {Promise<import('../../src/database/open.js').DatabaseHandle>} alice's file, beside the server's handle
 */
export async function openBeside(server) {
  const { folder, key } = await unlockAlice(server)
  return openEncryptedDatabase({ path: mailFile(folder), key, cipher: null }).db
}

/**
 * @param {import('node:test').TestContext} t - closed after it
 * @param {import('./server.js').TestServer} server
 * @returns {Promise<import('../../src/store/account-store.js').AccountStore>} alice's mail, as another process has it open
 */
export async function storeBeside(t, server) {
  const store = await openAccountStore({ ...(await unlockAlice(server)), clock: systemClock })
  t.after(() => store.close())
  return store
}
