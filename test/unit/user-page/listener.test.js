import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { HttpsListener } from '../../../src/user-page/listener.js'
import { certificateIn } from '../../helpers/certificate.js'
import { checkIntervalOf } from '../../helpers/check-interval.js'
import { scratchFolder } from '../../helpers/process.js'

test('who is slow is cut off soon after his time has passed', async (t) => {
  const { certificate: cert, key } = await certificateIn(scratchFolder(t, 'listener'))
  const server = new HttpsListener({ cert, key }).makeServer(() => {})
  assert.ok(server.headersTimeout <= 10_000, `${server.headersTimeout}`)
  assert.ok(server.requestTimeout <= 30_000, `${server.requestTimeout}`)
  assert.ok(server.keepAliveTimeout <= 15_000, `${server.keepAliveTimeout}`)
  assert.ok(server.maxConnections <= 2000, `${server.maxConnections}`)
  assert.ok(checkIntervalOf(server) <= 2_000)
})

test('a browser gets the certificate for the name that it asks for, else the first one, and those that they are exchanged for', async (t) => {
  const folder = scratchFolder(t, 'listener')
  const load = async (/** @type {string} */ name) => {
    const files = { certificateFile: '', keyFile: '', clock: systemClock }
    const loaded = await loadCertificate({ folder: join(folder, name), ...files })
    const { certificate: cert, key, fingerprint } = loaded
    return { cert, key, fingerprint }
  }
  const made = [await load('a'), await load('b'), await load('c')]
  const [first, named, next] = /** @type {[typeof made[0], typeof made[0], typeof made[0]]} */ (
    made
  )
  const settings = ({ cert, key } = first, other = named) => ({
    ...{ cert, key },
    others: [{ names: ['mail.example.org'], cert: other.cert, key: other.key }]
  })
  const listener = new HttpsListener(settings())
  listener.makeServer((_request, reply) => reply.end())
  const { port } = await listener.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => listener.close({ graceMs: 0 }))
  const shown = async (/** @type {string} */ servername) => {
    const named = servername === '' ? {} : { servername }
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...named })
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }
  const all = async () => [
    await shown(''),
    await shown('other.example.org'),
    await shown('mail.example.org')
  ]
  assert.deepEqual(
    await all(),
    [first, first, named].map(({ fingerprint }) => fingerprint)
  )
  listener.replaceCertificate(settings(next, first))
  assert.deepEqual(
    await all(),
    [next, next, first].map(({ fingerprint }) => fingerprint)
  )
  const { cert, key } = named
  listener.replaceCertificate({ cert, key })
  assert.deepEqual(
    await all(),
    [named, named, named].map(({ fingerprint }) => fingerprint)
  )
})

test('an answer under way may come to its end when the server is closed, and is cut after the grace', async (t) => {
  const { certificate: cert, key } = await certificateIn(scratchFolder(t, 'listener'))
  const begin = async () => {
    const listener = new HttpsListener({ cert, key })
    /** @type {import('node:http').ServerResponse[]} */
    const replies = []
    listener.makeServer((_request, reply) => {
      replies.push(reply)
      reply.write('half')
    })
    const { port } = await listener.listen({ host: '127.0.0.1', port: 0 })
    const asked = get({ host: '127.0.0.1', port, rejectUnauthorized: false, agent: false })
    const [answer] = await once(asked, 'response')
    return { listener, answer, reply: replies[0] }
  }
  const whole = await begin()
  const closing = whole.listener.close({ graceMs: 60_000 })
  await sleep(10)
  whole.reply?.end(' and half')
  assert.equal(await text(whole.answer), 'half and half')
  await closing
  const cut = await begin()
  const read = assert.rejects(text(cut.answer))
  await cut.listener.close({ graceMs: 1 })
  await read
})

test('a port that somebody else has is told to whoever starts the server', async (t) => {
  const { certificate: cert, key } = await certificateIn(scratchFolder(t, 'listener'))
  const [one, other] = [new HttpsListener({ cert, key }), new HttpsListener({ cert, key })]
  for (const listener of [one, other]) listener.makeServer(() => {})
  const where = await one.listen({ host: '127.0.0.1', port: 0 })
  await assert.rejects(other.listen(where), { code: 'EADDRINUSE' })
  await other.close({ graceMs: 0 })
  await one.close({ graceMs: 0 })
})
