import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import { loadCertificates, watchCertificates } from '../../../src/support/certificates.js'
import { systemClock } from '../../../src/support/clock.js'
import { silentLogger } from '../../helpers/delivery.js'
import { scratchFolder } from '../../helpers/process.js'
import { LineClient } from '../../helpers/transcript.js'
import { startImapServer } from '../../helpers/server.js'

/**
 * @param {string} folder - gets fullchain.pem and privkey.pem
 * @param {string} name - DNS
 */
async function makeCertificate(folder, name) {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }]
  })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'fullchain.pem'), cert)
  writeFileSync(join(folder, 'privkey.pem'), key)
}

/**
 * @param {number} port
 * @param {import('node:tls').ConnectionOptions} [options]
 */
async function handshake(port, options = {}) {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

test('a client gets the certificate of the name that it asks for, else the main one; new ones hold for new handshakes and no session ends', async (t) => {
  const folder = scratchFolder(t, 'certificates')
  const tlsFolder = join(folder, 'tls')
  const other = join(folder, 'other')
  await makeCertificate(other, 'mail.example.net')
  await makeCertificate(join(folder, 'wild'), '*.example.com')
  const tls = { certificate: '', key: '', otherFolders: [other, join(folder, 'wild')] }
  const parts = { folder: tlsFolder, tls, clock: systemClock }
  const server = await startImapServer(t)
  const use = (/** @type {Awaited<ReturnType<typeof loadCertificates>>} */ { main, others }) =>
    server.imap.replaceCertificate({ cert: main.certificate, key: main.key, others })
  use(await loadCertificates(parts))

  const nameOf = async (/** @type {string} */ servername) => {
    const socket = await handshake(server.tlsPort, { servername })
    t.after(() => socket.destroy())
    return socket.getPeerCertificate()
  }
  assert.equal((await nameOf('mail.example.net')).subject.CN, 'mail.example.net')
  assert.equal((await nameOf('IMAP.example.com')).subject.CN, '*.example.com')
  assert.equal((await nameOf('a.b.example.com')).subject.CN, 'localhost')
  assert.equal((await nameOf('elsewhere.example')).subject.CN, 'localhost')

  const old = await handshake(server.tlsPort, { servername: 'mail.example.net' })
  const client = new LineClient(old)
  t.after(() => client.close())
  await client.login()
  const before = (await nameOf('mail.example.net')).fingerprint256
  const watch = watchCertificates({ ...parts, onChange: use, logger: silentLogger })
  t.after(() => watch.close())
  await makeCertificate(other, 'mail.example.net')
  await watch.reload()
  assert.notEqual((await nameOf('mail.example.net')).fingerprint256, before)
  assert.match((await client.command('NOOP')).at(-1) ?? '', /^t OK/)

  // A key that does not fit, as in the middle of an exchange: the certificates in use stay.
  const used = (await nameOf('mail.example.net')).fingerprint256
  writeFileSync(join(other, 'privkey.pem'), 'half a key')
  await watch.reload()
  assert.equal((await nameOf('mail.example.net')).fingerprint256, used)
})

test('ALPN: imap is agreed on, nothing is without it, and a client that wants other protocols alone is refused', async (t) => {
  const { tlsPort } = await startImapServer(t)
  const agreed = await handshake(tlsPort, { ALPNProtocols: ['h2', 'imap'] })
  assert.equal(agreed.alpnProtocol, 'imap')
  agreed.destroy()
  const without = await handshake(tlsPort)
  assert.equal(without.alpnProtocol, false)
  without.destroy()
  await assert.rejects(handshake(tlsPort, { ALPNProtocols: ['h2', 'http/1.1'] }))
})

test('a session of TLS 1.2 is resumed, but not once the server has begun anew with the same certificate', async (t) => {
  const folder = scratchFolder(t, 'tickets')
  const parts = { folder, tls: { certificate: '', key: '', otherFolders: [] }, clock: systemClock }
  const server = await startImapServer(t)
  const use = (/** @type {Awaited<ReturnType<typeof loadCertificates>>} */ { main, others }) =>
    server.imap.replaceCertificate({ cert: main.certificate, key: main.key, others })
  const certificates = await loadCertificates(parts)
  const isResumed = async (/** @type {Buffer | undefined} */ session) => {
    const socket = await handshake(server.tlsPort, {
      maxVersion: 'TLSv1.2',
      ...(session && { session })
    })
    const found = { session: socket.getSession(), isResumed: socket.isSessionReused() }
    socket.destroy()
    return found
  }
  use(certificates)
  const { session } = await isResumed(undefined)
  assert.equal((await isResumed(session)).isResumed, true)
  use(certificates)
  assert.equal((await isResumed(session)).isResumed, false)
})
