import assert from 'node:assert/strict'
import { request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import fc from 'fast-check'
import { loadConfig } from '../../../config/load.js'
import { createDiscoveryServer } from '../../../src/discovery/server.js'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { checkIntervalOf } from '../../helpers/check-interval.js'
import { scratchFolder } from '../../helpers/process.js'

const parser = new XMLParser({
  ignoreAttributes: false,
  parseTagValue: false,
  isArray: (name) => ['incomingServer', 'outgoingServer', 'Protocol'].includes(name)
})

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, unknown>} [settings]
 */
async function start(t, settings = {}) {
  const data = scratchFolder(t, 'discovery')
  const config = loadConfig({
    settings: {
      data,
      defaultDomain: 'example.org',
      'imap.listen': '0.0.0.0:143',
      'imaps.listen': '127.0.0.1:1993',
      'discovery.host': 'mail.example.org',
      'discovery.listen': '127.0.0.1:0',
      ...settings
    },
    environment: {}
  })
  const makeCertificate = async (/** @type {string} */ name) => {
    const { certificate: cert, key } = await loadCertificate({
      folder: join(data, name),
      certificateFile: '',
      keyFile: '',
      clock: systemClock
    })
    return { cert, key }
  }
  const tls = await makeCertificate('tls')
  const server = await createDiscoveryServer({ config, tls })
  t.after(() => server.close())
  const get = async (/** @type {string} */ url, host = 'mail.example.org') => {
    const reply = await server.app.inject({ method: 'GET', url, headers: { host } })
    return { status: reply.statusCode, text: reply.payload, headers: reply.headers }
  }
  const post = async (
    /** @type {string} */ body,
    { url = '/autodiscover/autodiscover.xml', type = 'text/xml' } = {}
  ) => {
    const reply = await server.app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': type },
      payload: body
    })
    return { status: reply.statusCode, text: reply.payload }
  }
  return { server, tls, makeCertificate, get, post }
}

const question = (/** @type {string} */ address) =>
  `<?xml version="1.0"?><Autodiscover xmlns="http://schemas.microsoft.com/exchange/autodiscover/outlook/requestschema/2006"><Request><EMailAddress>${address}</EMailAddress><AcceptableResponseSchema>x</AcceptableResponseSchema></Request></Autodiscover>`

test('Thunderbird gets servers by preference, from both of its addresses', async (t) => {
  const { get } = await start(t)
  const { status, text, headers } = await get(
    '/mail/config-v1.1.xml?emailaddress=anna%40Example.NET'
  )
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/xml; charset=utf-8')
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(XMLValidator.validate(text), true)
  const { clientConfig } = parser.parse(text)
  assert.equal(clientConfig['@_version'], '1.1')
  const { emailProvider } = clientConfig
  assert.deepEqual([emailProvider.domain, emailProvider['@_id']], ['example.net', 'example.net'])
  assert.match(text, /^<\?xml version="1.0" encoding="UTF-8"\?>/)
  const shared = { authentication: 'password-cleartext', username: '%EMAILADDRESS%' }
  const host = { hostname: 'mail.example.org' }
  assert.deepEqual(emailProvider.incomingServer, [
    { ...host, port: '993', socketType: 'SSL', ...shared, '@_type': 'imap' },
    { ...host, port: '143', socketType: 'STARTTLS', ...shared, '@_type': 'imap' }
  ])
  assert.deepEqual(emailProvider.outgoingServer, [
    { ...host, port: '465', socketType: 'SSL', ...shared, '@_type': 'smtp' },
    { ...host, port: '587', socketType: 'STARTTLS', ...shared, '@_type': 'smtp' }
  ])
  const known = await get(
    '/.well-known/autoconfig/mail/config-v1.1.xml?emailaddress=other@example.net'
  )
  assert.equal(known.text, text, 'another address of the domain gets the same bytes')
})

test('a path that cannot be read is refused like all else, without what the server is made of', async (t) => {
  const { get } = await start(t)
  for (const path of ['/%zz', `/mail/${'%E0%A4%A'}`]) {
    const { status, text, headers } = await get(path)
    assert.deepEqual([status, text], [400, 'That is no such request\n'])
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['cache-control'], 'no-store')
  }
})

test('who is slow is not waited for, with TLS or without', async (t) => {
  for (const isTls of [true, false]) {
    const { server } = await start(t, { 'discovery.isTls': isTls })
    const { requestTimeout } = /** @type {import('node:http').Server} */ (server.app.server)
    assert.ok(requestTimeout > 0 && requestTimeout <= 30_000, `${requestTimeout}`)
    assert.ok(checkIntervalOf(server.app.server) <= 2_000)
  }
})

test('without an address the name that was asked says the domain', async (t) => {
  const { get } = await start(t)
  const domainOf = async (/** @type {string} */ host, place = '') => {
    const { text } = await get(`${place}/mail/config-v1.1.xml`, host)
    return parser.parse(text).clientConfig.emailProvider.domain
  }
  assert.equal(await domainOf('autoconfig.example.net'), 'example.net')
  assert.equal(await domainOf('mail.example.org'), 'example.org')
  const empty = await get('/mail/config-v1.1.xml?emailaddress=', 'autoconfig.example.net')
  assert.match(empty.text, /<domain>example\.net</)
  const known = '/.well-known/autoconfig'
  assert.equal(await domainOf('example.net', known), 'example.net')
  assert.equal(await domainOf('autoconfig.example.net', known), 'example.net')
  // Of a web server in front that does not say what it was asked for.
  for (const host of ['127.0.0.1:8025', '[::1]:8025', 'localhost'])
    assert.equal(await domainOf(host, known), 'example.org')
})

test('a listener for this machine alone has something before it, at the usual port; any other tells its own', async (t) => {
  for (const [listen, port] of [
    ['0.0.0.0:2143', '2143'],
    ['[::]:2143', '2143'],
    ['[::1]:2143', '143'],
    ['localhost:2143', '143']
  ]) {
    const { get } = await start(t, { 'imap.listen': listen })
    const { text } = await get('/mail/config-v1.1.xml')
    const { incomingServer } = parser.parse(text).clientConfig.emailProvider
    assert.equal(incomingServer[1].port, port, listen)
  }
})

test('what is turned off is not offered, and ports may be told', async (t) => {
  const { get, post } = await start(t, {
    'imap.listen': 'off',
    'discovery.imapsPort': 10993,
    'discovery.submissionHost': 'smtp.example.org',
    'discovery.submissionsPort': 0
  })
  const { text } = await get('/mail/config-v1.1.xml?emailaddress=a@example.org')
  const { emailProvider } = parser.parse(text).clientConfig
  assert.deepEqual(
    emailProvider.incomingServer.map((/** @type {any} */ one) => [one.hostname, one.port]),
    [['mail.example.org', '10993']]
  )
  assert.deepEqual(
    emailProvider.outgoingServer.map((/** @type {any} */ one) => [one.hostname, one.port]),
    [['smtp.example.org', '587']]
  )
  const outlook = parser.parse((await post(question('a@example.org'))).text)
  assert.deepEqual(
    outlook.Autodiscover.Response.Account.Protocol.map((/** @type {any} */ one) => [
      one.Type,
      one.Server,
      one.Port,
      one.SSL,
      one.Encryption,
      one.UsePOPAuth
    ]),
    [
      ['IMAP', 'mail.example.org', '10993', 'on', 'SSL', undefined],
      ['SMTP', 'smtp.example.org', '587', 'off', 'TLS', 'on']
    ]
  )
})

test('without a server for outgoing mail none is told, to any program', async (t) => {
  const { get, post } = await start(t, {
    'discovery.submissionsPort': 0,
    'discovery.submissionPort': 0
  })
  const thunderbird = await get('/mail/config-v1.1.xml?emailaddress=a@example.org')
  assert.doesNotMatch(thunderbird.text, /outgoingServer/)
  const apple = await get('/email.mobileconfig?email=a@example.org')
  assert.equal(apple.status, 200)
  assert.match(apple.text, /IncomingMailServerHostName/)
  assert.doesNotMatch(apple.text, /OutgoingMailServer/)
  const outlook = await post(question('a@example.org'))
  assert.doesNotMatch(outlook.text, /SMTP/)
})

test('Apple gets a profile without a password, the same for the same address', async (t) => {
  const { get } = await start(t)
  const { status, text, headers } = await get('/email.mobileconfig?email=Anna@example.org')
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'application/x-apple-aspen-config; charset=utf-8')
  assert.match(
    String(headers['content-disposition']),
    /^attachment; filename="email.mobileconfig"$/
  )
  assert.equal(XMLValidator.validate(text), true)
  assert.match(text, /^<\?xml version="1.0" encoding="UTF-8"\?>\n<!DOCTYPE plist PUBLIC /)
  const squeezed = text.replace(/>\s+</g, '><')
  for (const [key, value] of [
    ['IncomingMailServerHostName', '<string>mail.example.org</string>'],
    ['IncomingMailServerPortNumber', '<integer>993</integer>'],
    ['IncomingMailServerUseSSL', '<true/>'],
    ['IncomingMailServerUsername', '<string>anna@example.org</string>'],
    ['OutgoingMailServerPortNumber', '<integer>465</integer>'],
    ['OutgoingPasswordSameAsIncomingPassword', '<true/>'],
    ['PayloadRemovalDisallowed', '<false/>']
  ]) {
    assert.ok(squeezed.includes(`<key>${key}</key>${value}`), key)
  }
  assert.match(squeezed, /<plist version="1.0"><dict>.*<key>PayloadContent<\/key><array><dict>/)
  assert.doesNotMatch(text, /<key>(Incoming|Outgoing)Password</)
  const ids = [...squeezed.matchAll(/<key>PayloadUUID<\/key><string>([^<]+)/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, 2)
  for (const id of ids) {
    assert.match(
      String(id),
      /^[0-9A-F]{8}-[0-9A-F]{4}-5[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$/
    )
  }
  assert.equal((await get('/email.mobileconfig?email=anna@example.org')).text, text)
  const other = (await get('/email.mobileconfig?email=ben@example.org')).text
  for (const id of ids) assert.ok(!other.includes(String(id)))
})

test('Outlook gets IMAP and SMTP, in whatever letters it writes the path', async (t) => {
  const { post } = await start(t)
  for (const url of ['/autodiscover/autodiscover.xml', '/Autodiscover/Autodiscover.xml']) {
    const { status, text } = await post(question('a&amp;b@example.org'), { url })
    assert.equal(status, 200)
    assert.equal(XMLValidator.validate(text), true)
    const { Account } = parser.parse(text).Autodiscover.Response
    assert.deepEqual(
      Account.Protocol.map((/** @type {any} */ one) => [
        one.Type,
        one.Port,
        one.SSL,
        one.LoginName
      ]),
      [
        ['IMAP', '993', 'on', 'a&b@example.org'],
        ['SMTP', '465', 'on', 'a&b@example.org']
      ]
    )
  }
})

test('what is no request is refused, and no entity is expanded', async (t) => {
  const { get, post } = await start(t)
  for (const url of [
    '/email.mobileconfig',
    '/email.mobileconfig?email=anna',
    '/email.mobileconfig?email=%3Cx%3E@example.org',
    '/email.mobileconfig?email=a@b.example&email=c@d.example',
    `/email.mobileconfig?email=${'a'.repeat(65)}@example.org`,
    '/mail/config-v1.1.xml?emailaddress=anna@exa%20mple.org'
  ]) {
    assert.equal((await get(url)).status, 400, url)
  }
  assert.equal((await get('/')).status, 404)
  for (const body of [
    '',
    '{}',
    'anna@example.org',
    '<Autodiscover><Request>',
    question('anna'),
    question('<b>x</b>'),
    `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>${question('&x;@example.org')}`
  ]) {
    const { status, text } = await post(body)
    assert.equal(status, 400, body)
    assert.match(text, /<ErrorCode>600<\/ErrorCode>/)
    assert.ok(!text.includes('root:'))
  }
  assert.equal((await post('x'.repeat(20_000))).status, 413)
})

test('whatever is asked, the answer is well-formed and no failure of the server', async (t) => {
  const { get, post } = await start(t)
  const local = fc.string({
    unit: fc.constantFrom(...`ab.&'+=<>"]!#%?é\u{1f600}\0\x01-_`),
    maxLength: 12
  })
  await fc.assert(
    fc.asyncProperty(local, fc.string(), async (name, noise) => {
      const address = encodeURIComponent(`${name}@example.org`)
      for (const url of [
        `/mail/config-v1.1.xml?emailaddress=${address}`,
        `/email.mobileconfig?email=${address}`
      ]) {
        const { status, text } = await get(url)
        assert.ok(status === 200 || status === 400)
        if (status === 200) assert.equal(XMLValidator.validate(text), true, text)
      }
      for (const body of [question(name), question(`${name}@example.org`), noise]) {
        const { status, text } = await post(body)
        assert.ok(status === 200 || status === 400)
        assert.equal(XMLValidator.validate(text), true, text)
      }
    }),
    { numRuns: 60 }
  )
})

test('over HTTPS, with a certificate that is replaced while it runs', async (t) => {
  const { server, makeCertificate } = await start(t)
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const ask = (host = 'localhost') =>
    new Promise((resolve, reject) => {
      const options = {
        host,
        port,
        path: '/mail/config-v1.1.xml',
        rejectUnauthorized: false,
        agent: false
      }
      request(options, (response) => {
        const { fingerprint256 } = /** @type {import('node:tls').TLSSocket} */ (
          response.socket
        ).getPeerCertificate()
        response.resume()
        response.once('end', () => resolve([response.statusCode, fingerprint256]))
      })
        .once('error', reject)
        .end()
    })
  const [status, before] = await ask()
  assert.equal(status, 200)
  server.replaceCertificate(await makeCertificate('other'))
  const [, after] = await ask()
  assert.notEqual(after, before)
  // Who asks for the address alone names no server in the handshake.
  assert.deepEqual(await ask('127.0.0.1'), [200, after])
})

test('plain HTTP is for a proxy on this machine alone', async (t) => {
  const { server } = await start(t, { 'discovery.isTls': false })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const reply = await fetch(`http://127.0.0.1:${port}/mail/config-v1.1.xml`)
  assert.equal(reply.status, 200)
  await assert.rejects(start(t, { 'discovery.isTls': false, 'discovery.listen': '0.0.0.0:80' }), {
    code: 'CONFIG_INVALID'
  })
  await start(t, { 'discovery.listen': '0.0.0.0:443' })
})
