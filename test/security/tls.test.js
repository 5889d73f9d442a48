/**
 * RFC 9325 at every door: what is recorded today cannot be read by whoever gets the certificate's key later.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { generate } from 'selfsigned'
import { scratchFolder, startServerProcess } from '../helpers/process.js'

/** @import { ConnectionOptions, TLSSocket } from 'node:tls' */

/** @type {Record<string, { greeting: RegExp, ask: string, ready: RegExp }>} what is said before TLS begins */
const UPGRADES = {
  imap: { greeting: /^\* OK .*\r\n$/, ask: 'a STARTTLS\r\n', ready: /^a OK .*\r\n$/ },
  lmtp: { greeting: /^220 .*\r\n$/, ask: 'STARTTLS\r\n', ready: /^220 .*\r\n$/ }
}

/**
 * @param {import('node:net').Socket} socket
 * @param {RegExp} wanted
 */
async function hear(socket, wanted) {
  let text = ''
  while (!wanted.test(text)) {
    const [chunk] = await once(socket, 'data')
    text += chunk
  }
}

/**
 * @param {string} door
 * @param {number} port
 * @param {ConnectionOptions} offer
 * @returns {Promise<TLSSocket>}
 */
async function handshake(door, port, offer) {
  const options = { host: '127.0.0.1', port, rejectUnauthorized: false, ...offer }
  const upgrade = UPGRADES[door]
  if (upgrade) {
    const socket = connectPlain({ host: '127.0.0.1', port })
    await hear(socket, upgrade.greeting)
    socket.write(upgrade.ask)
    await hear(socket, upgrade.ready)
    Object.assign(options, { socket })
  }
  const secured = connect(options)
  try {
    await once(secured, 'secureConnect')
  } catch (error) {
    secured.destroy()
    throw error
  }
  return secured
}

test('every door takes TLS 1.2 and 1.3 with keys of the moment alone, with an RSA certificate too', async (t) => {
  const folder = scratchFolder(t, 'tls')
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'rsa',
    keySize: 2048,
    algorithm: 'sha256'
  })
  const files = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') }
  writeFileSync(files.certificate, cert)
  writeFileSync(files.key, key, { mode: 0o600 })
  const { ports } = await startServerProcess(t, {
    data: join(folder, 'data'),
    environment: {
      LETTERLOCK_TLS_CERTIFICATE: files.certificate,
      LETTERLOCK_TLS_KEY: files.key,
      LETTERLOCK_ADMIN_IS_TLS: 'true',
      LETTERLOCK_USER_PAGE_LISTEN: '127.0.0.1:0'
    }
  })
  for (const [door, port] of Object.entries(ports)) {
    await t.test(door, async () => {
      const refused = async (
        /** @type {ConnectionOptions} */ offer,
        /** @type {RegExp} */ code
      ) => {
        await assert.rejects(handshake(door, port, offer), { code })
      }
      const agreed = async (/** @type {ConnectionOptions} */ offer) => {
        const socket = await handshake(door, port, offer)
        const { name } = socket.getCipher()
        const group = /** @type {{ name?: string }} */ (socket.getEphemeralKeyInfo()).name
        const version = socket.getProtocol()
        socket.destroy()
        return { version, name, group }
      }
      await refused(
        { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
        /PROTOCOL_VERSION/
      )
      await refused(
        { maxVersion: 'TLSv1.2', ciphers: 'AES256-GCM-SHA384:AES128-SHA' },
        /HANDSHAKE_FAILURE/
      )
      // As programs on Windows 7 have it.
      const old = await agreed({
        maxVersion: 'TLSv1.2',
        ciphers: 'AES128-SHA:ECDHE-RSA-AES128-SHA'
      })
      assert.deepEqual([old.version, old.name], ['TLSv1.2', 'ECDHE-RSA-AES128-SHA'])
      const { version, group } = await agreed({})
      assert.deepEqual([version, group], ['TLSv1.3', 'X25519MLKEM768'])
    })
  }
})
