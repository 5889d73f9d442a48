/**
 * A look into a mailbox beside the server that has it open.
 */
import { deriveDatabaseKey } from '../../src/crypto/key-derivation.js'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { mailFile } from '../../src/store/open-store.js'
import { PASSWORD } from './server.js'

/**
 * @param {import('./server.js').TestServer} server
 * @returns {Promise<import('../../src/database/open.js').DatabaseHandle>} alice's file, beside the server's handle
 */
export async function openBeside({ services }) {
  const { account, masterKey } = await services.unlocker.unlock({
    username: 'alice',
    password: Buffer.from(PASSWORD),
    remoteAddress: '127.0.0.1'
  })
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  return openEncryptedDatabase({ path: mailFile(account.folder), key, cipher: null }).db
}
