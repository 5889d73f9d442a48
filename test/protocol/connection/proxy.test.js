import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { ProxyTrust } from '../../../src/support/proxy-header.js'
import { LineClient } from '../../helpers/transcript.js'
import { startImapServer } from '../../helpers/server.js'

const HEADER = 'PROXY TCP4 192.0.2.7 198.51.100.2 54321 993\r\n'

/**
 * @param {import('node:test').TestContext} t
 * @param {{ trusted: string[], isImplicitTls: boolean }} options
 */
async function setUp(t, { trusted, isImplicitTls }) {
  const server = await startImapServer(t)
  const proxy = new ProxyTrust(trusted)
  const { port } = await server.imap.listen({ host: '127.0.0.1', port: 0, isImplicitTls, proxy })
  return { server, port }
}

test('behind a load balancer the client’s address is the one in the PROXY header, also before TLS', async (t) => {
  const { server, port } = await setUp(t, { trusted: ['127.0.0.0/8'], isImplicitTls: true })
  const plain = connect(port, '127.0.0.1')
  await once(plain, 'connect')
  // In one packet with the first TLS record, as a balancer may send it.
  plain.cork()
  plain.write(HEADER)
  const socket = connectTls({ socket: plain, rejectUnauthorized: false })
  process.nextTick(() => plain.uncork())
  await once(socket, 'secureConnect')
  const client = new LineClient(socket)
  t.after(() => client.close())
  await client.login()
  const [session] = server.imap.listSessions()
  assert.equal(session?.remoteAddress, '192.0.2.7')
  assert.equal(session?.isTls, true)
})

test('an address that is not trusted is turned away, with or without a header', async (t) => {
  const { port } = await setUp(t, { trusted: ['192.0.2.0/24'], isImplicitTls: false })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  let received = ''
  socket.on('data', (chunk) => (received += chunk))
  socket.write(HEADER)
  await once(socket, 'close')
  assert.equal(received, '')
})

test('a connection that begins with a command instead of the header gets no answer', async (t) => {
  const { port } = await setUp(t, { trusted: ['127.0.0.1'], isImplicitTls: false })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  let received = ''
  socket.on('data', (chunk) => (received += chunk))
  socket.write('a1 CAPABILITY\r\n')
  await once(socket, 'close')
  assert.equal(received, '')
})
