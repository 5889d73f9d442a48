/**
 * What `letterlock doctor` says of ports.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../../config/load.js'
import { checkPorts } from '../../../src/cli/doctor/network.js'
import { startServer } from '../../../src/compose.js'

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
