/**
 * What `letterlock doctor` says of ports, certificates and permissions.
 */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../../config/load.js'
import { checkCertificates, checkPorts } from '../../../src/cli/doctor/network.js'
import { checkPermissions } from '../../../src/cli/doctor/permissions.js'
import { startServer } from '../../../src/compose.js'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { scratchFolder } from '../../helpers/process.js'

/**
 * @param {Record<string, unknown>} settings
 */
const configOf = (settings) =>
  loadConfig({
    settings: {
      'log.level': 'silent',
      'imaps.listen': 'off',
      'admin.listen': 'off',
      'imap.isProxied': true,
      'lmtp.isProxied': true,
      ...settings
    },
    environment: {}
  })

/** @param {ReturnType<typeof configOf>} config */
const statesOf = async (config) =>
  (await checkPorts(config)).map(({ name, status, text }) => [name, status, text])

test('an admin interface without TLS is doubtful beyond this machine, and on none of its own addresses', async () => {
  const isDoubtful = async (/** @type {string} */ listen) => {
    const off = { 'imap.listen': 'off', 'lmtp.listen': 'off' }
    const findings = await checkPorts(configOf({ ...off, 'admin.listen': listen }))
    return findings.some(({ name, status }) => name === 'admin' && status === 'warn')
  }
  for (const own of ['127.0.0.1:0', '127.0.0.2:0', '[::1]:0', 'localhost:0'])
    assert.equal(await isDoubtful(own), false, own)
  assert.equal(await isDoubtful('0.0.0.0:0'), true)
  assert.equal(await isDoubtful('off'), false)
})

test('a server behind a proxy answers for itself, also where this machine is none of its proxies', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-doctor-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  for (const trusted of ['127.0.0.1', '192.0.2.1']) {
    const any = {
      data,
      'imap.listen': '127.0.0.1:0',
      'lmtp.listen': '127.0.0.1:0',
      'proxy.trustedAddresses': [trusted]
    }
    const server = await startServer({
      config: configOf(any),
      makeFirstAccount: false,
      nightlyCommand: null
    })
    const [imap = '', lmtp = ''] = server.listeners.map(({ host, port }) => `${host}:${port}`)
    const states = await statesOf(configOf({ ...any, 'imap.listen': imap, 'lmtp.listen': lmtp }))
    await server.close()
    const what =
      trusted === '127.0.0.1'
        ? ': Letterlock answers there'
        : ' is in use, and answers the proxies of proxy.trustedAddresses alone'
    assert.deepEqual(states, [
      ['port imap', 'ok', `${imap}${what}`],
      ['port lmtp', 'ok', `${lmtp}${what}`]
    ])
  }
})

test('a server that takes no sessions for now is not taken for another program', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-doctor-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const full = {
    data,
    'imap.listen': '127.0.0.1:0',
    'imap.isProxied': false,
    'lmtp.isProxied': false,
    'lmtp.listen': '127.0.0.1:0',
    'imap.maxConnections': 1,
    'lmtp.maxConnections': 1
  }
  const server = await startServer({
    config: configOf(full),
    makeFirstAccount: false,
    nightlyCommand: null
  })
  t.after(() => server.close())
  for (const { host, port } of server.listeners) {
    const taken = connect({ host, port })
    t.after(() => taken.destroy())
    await once(taken, 'data')
  }
  const [imap = '', lmtp = ''] = server.listeners.map(({ host, port }) => `${host}:${port}`)
  const states = await statesOf(configOf({ ...full, 'imap.listen': imap, 'lmtp.listen': lmtp }))
  for (const [name, status, text] of states) {
    assert.equal(status, 'fail', name)
    assert.match(String(text), /turns sessions away: .*[Tt]oo many/)
  }
})

test('another program on the port of a server behind a proxy is named', async (t) => {
  const other = createServer((socket) => socket.on('error', () => {}).end('220 not us\r\n'))
  other.listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (other.address())
  const config = configOf({ 'imap.listen': `127.0.0.1:${port}`, 'lmtp.listen': 'off' })
  assert.deepEqual(await statesOf(config), [
    ['port imap', 'fail', `127.0.0.1:${port} is in use by another program`]
  ])
})

test('the certificates of other names are looked at as the main one is, and so are their keys', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-doctor-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const own = join(data, 'tls')
  const other = join(data, 'live')
  const gone = join(data, 'gone')
  const made = { certificateFile: '', keyFile: '', clock: systemClock }
  await loadCertificate({ folder: own, ...made })
  await mkdir(other)
  await copyFile(join(own, 'certificate.pem'), join(other, 'fullchain.pem'))
  await copyFile(join(own, 'key.pem'), join(other, 'privkey.pem'))
  const config = configOf({ data, 'tls.otherFolders': [other, gone] })
  const states = async (nowMs = Date.now()) =>
    (await checkCertificates(config, nowMs)).map(({ name, status, text }) => [name, status, text])
  const [, good, missing] = await states()
  assert.deepEqual(good?.slice(0, 2), [`certificate ${other}`, 'ok'])
  assert.deepEqual(missing, [`certificate ${gone}`, 'fail', 'It cannot be read (ENOENT)'])
  const [, ended] = await states(Date.now() + 50 * 365 * 86_400_000)
  assert.equal(ended?.[1], 'fail')
  const [, early] = await states(0)
  assert.deepEqual(early?.slice(1), ['fail', 'It is not valid yet'])
  const { validTo } = new X509Certificate(await readFile(join(own, 'certificate.pem')))
  const [selfSigned, soon] = await states(Date.parse(validTo) - 5 * 86_400_000)
  assert.deepEqual(soon?.slice(1), ['warn', 'It ends in 5 days'])
  assert.deepEqual(selfSigned?.[1], 'warn')
  const [, overNow] = await states(Date.parse(validTo) + 1000)
  const end = new Date(validTo).toISOString().replace('.000', '')
  assert.deepEqual(overNow?.slice(1), ['fail', `It ended at ${end}`])
  assert.match(String(selfSigned?.[2]), /^Self-signed, for /)
  const [none] = await checkCertificates(configOf({ data: gone }), Date.now())
  assert.deepEqual(
    [none?.status, none?.text],
    ['ok', 'A self-signed one is made at the first start']
  )

  await chmod(join(other, 'privkey.pem'), 0o644)
  const open = (await checkPermissions(config)).find(({ status }) => status === 'fail')
  assert.match(open?.text ?? '', /live\/privkey\.pem is open to others \(644\)$/)

  await loadCertificate({ folder: gone, ...made })
  await copyFile(join(gone, 'key.pem'), join(other, 'privkey.pem'))
  const [, wrong] = await states()
  assert.deepEqual(wrong?.slice(1), ['fail', 'The key is not the certificate’s'])
})

test('of a data folder with very many files, the permissions of the first are vouched for and of no others', async (t) => {
  const data = scratchFolder(t, 'doctor')
  await chmod(data, 0o700)
  await mkdir(join(data, 'run'), { mode: 0o700 })
  for (const name of ['a', 'b']) await writeFile(join(data, 'run', name), '', { mode: 0o600 })
  const said = async (/** @type {number} */ maxLooks) => {
    const [first] = await checkPermissions(configOf({ data }), { maxLooks })
    return [first?.status, first?.text]
  }
  // The folder run, and what is in it.
  const all = 'Data, directory, mailboxes, pepper and key are for one user alone'
  assert.deepEqual(await said(3), ['ok', all])
  assert.deepEqual(await said(2), [
    'ok',
    'Directory, pepper, key and the first 2 files of the data folder are for one user alone; there are more'
  ])
})
