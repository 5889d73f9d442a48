import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  environmentName,
  isFirstUnderPm2,
  isSupervised,
  loadConfig,
  proxyEnvironment
} from '../../../config/load.js'
import { SETTINGS } from '../../../config/default.js'
import { clusterEnvironment, daemonEnvironment } from '../../../config/runtime.js'
import { MailError } from '../../../src/errors.js'

/**
 * @param {() => unknown} action
 * @param {RegExp} pattern - of the detail
 */
function assertInvalid(action, pattern) {
  assert.throws(action, (error) => {
    assert.ok(error instanceof MailError)
    assert.equal(error.code, 'CONFIG_INVALID')
    assert.match(error.detail ?? '', pattern)
    return true
  })
}

test('the defaults are valid and nested by their dotted names', () => {
  const config = loadConfig({ environment: {} })
  assert.equal(config.imap.listen, '127.0.0.1:1143')
  assert.equal(config.auth.argon2.memoryKiB, 65536)
  assert.match(config.data, /^\/.*\/data$/)
  assert.equal(config.auth.pepperFile, `${config.data}/pepper`)
})

test('the command line wins over the environment, the environment over the file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'letterlock.json')
  writeFileSync(
    file,
    JSON.stringify({
      imap: { listen: '127.0.0.1:1' },
      'imaps.listen': '127.0.0.1:2',
      lmtp: { maxRecipients: 300 }
    })
  )
  const config = loadConfig({
    file,
    environment: { LETTERLOCK_IMAP_LISTEN: '127.0.0.1:3', LETTERLOCK_IMAPS_LISTEN: '[::1]:4' },
    settings: { 'imap.listen': 'off' }
  })
  assert.equal(config.imap.listen, 'off')
  assert.equal(config.imaps.listen, '[::1]:4')
  assert.equal(config.lmtp.maxRecipients, 300)
})

/**
 * @param {Record<string, string>} settings
 */
const load = (settings) => loadConfig({ settings, environment: {} })

test('two listeners that would take each other’s place are refused, and both are named', () => {
  for (const [imaps, page] of /** @type {const} */ ([
    ['127.0.0.1:993', '127.0.0.1:993'],
    ['0.0.0.0:993', '127.0.0.1:993'],
    ['127.0.0.1:993', '[::]:993'],
    ['[::]:993', '0.0.0.0:993'],
    ['[::1]:993', '[0:0::1]:993'],
    ['0.0.0.0:993', 'mail.example.org:993'],
    ['LOCALHOST:993', 'localhost:993']
  ]))
    assertInvalid(
      () => load({ 'imaps.listen': imaps, 'userPage.listen': page }),
      /^imaps\.listen \(\S+:993\) and userPage\.listen \(\S+:993\) would take each other’s place/
    )
  // Against a default, too.
  assertInvalid(() => load({ 'discovery.listen': '127.0.0.1:1080' }), /^admin\.listen .*discovery/)
  assertInvalid(
    () => load({ 'admin.socket': '/run/a/../x.sock', 'sasl.socket': '/run/x.sock' }),
    /^sasl\.socket .*admin\.socket/
  )
})

test('listeners of other ports, addresses or kinds, of port 0 and those that are off go together', () => {
  for (const [imaps, page] of /** @type {const} */ ([
    ['127.0.0.1:993', '127.0.0.1:994'],
    ['127.0.0.1:993', '127.0.0.2:993'],
    ['0.0.0.0:993', '[::1]:993'],
    ['127.0.0.1:0', '127.0.0.1:0'],
    ['off', 'off']
  ]))
    assert.equal(load({ 'imaps.listen': imaps, 'userPage.listen': page }).imaps.listen, imaps)
})

test('environment names are derived from the setting, each of them once', () => {
  assert.equal(environmentName('auth.argon2.memoryKiB'), 'LETTERLOCK_AUTH_ARGON2_MEMORY_KIB')
  assert.equal(environmentName('imap.loginTimeoutMs'), 'LETTERLOCK_IMAP_LOGIN_TIMEOUT_MS')
  const names = Object.keys(SETTINGS).map(environmentName)
  assert.equal(new Set(names).size, names.length)
})

test('environment texts become the type of their setting', () => {
  const config = loadConfig({
    environment: {
      LETTERLOCK_IMAP_ALLOW_PLAINTEXT_LOOPBACK: 'true',
      LETTERLOCK_LIMITS_EXEMPT_ADDRESSES: '10.0.0.1, 10.0.0.2',
      LETTERLOCK_MESSAGES_MAX_BYTES: '1000000'
    }
  })
  assert.equal(config.imap.allowPlaintextLoopback, true)
  assert.deepEqual(config.limits.exemptAddresses, ['10.0.0.1', '10.0.0.2'])
  assert.equal(config.messages.maxBytes, 1_000_000)
})

test('an empty data folder and a default domain that is none are refused: data came into the present folder', () => {
  assertInvalid(
    () => loadConfig({ environment: { LETTERLOCK_DATA: '' } }),
    /^environment: data must not be empty, not ""$/
  )
  for (const domain of ['', 'not a domain', 'a@example.org', '-x.example'])
    assertInvalid(
      () => loadConfig({ environment: {}, settings: { defaultDomain: domain } }),
      /^command line: defaultDomain must be a domain, not "/
    )
  for (const domain of ['EXAMPLE.org', 'bücher.example', 'localhost'])
    assert.equal(
      loadConfig({ environment: {}, settings: { defaultDomain: domain } }).defaultDomain,
      domain
    )
})

test('a variable that is none of ours and looks like one is refused, others are not', () => {
  const environment = {
    LETTERLOCK_NOSUCH: '1',
    LETTERLOCK_WORKER: '0',
    LETTERLOCK_TEST_ROUNDS: '3',
    PATH: '/bin'
  }
  assert.throws(
    () => loadConfig({ environment }),
    (/** @type {any} */ error) => {
      assert.equal(error.code, 'CONFIG_INVALID')
      assert.equal(error.detail, 'environment: unknown key "LETTERLOCK_NOSUCH"')
      return true
    }
  )
})

test('a misspelt variable names the nearest one', () => {
  assert.throws(
    () => loadConfig({ environment: { LETTERLOCK_IMAP_LISTN: 'off' } }),
    (/** @type {any} */ error) =>
      error.detail ===
      'environment: unknown key "LETTERLOCK_IMAP_LISTN", did you mean "LETTERLOCK_IMAP_LISTEN"?'
  )
})

for (const [
  title,
  settings,
  pattern
] of /** @type {[string, Record<string, unknown>, RegExp][]} */ ([
  [
    'a misspelt key names the nearest one',
    { 'imap.listn': 'off' },
    /unknown key "imap.listn", did you mean "imap.listen"/
  ],
  [
    'a key that is the beginning of one names it, though others are as near',
    { 'tls.cert': '/etc/cert.pem' },
    /unknown key "tls.cert", did you mean "tls.certificate"/
  ],
  [
    'a key that resembles nothing is refused plainly',
    { qqqqqqqqqqqqqqqqqqqqqqqqq: 1 },
    /unknown key "q+"$/
  ],
  [
    'a number below its range',
    { 'auth.argon2.memoryKiB': 1024 },
    /auth.argon2.memoryKiB must be >= 19456, not 1024/
  ],
  [
    'a word that is not among the choices',
    { 'storage.cipher': 'rot13' },
    /must be one of chacha20, aegis-256/
  ],
  [
    'a port that there is not',
    { 'lmtp.listen': '127.0.0.1:65536' },
    /lmtp.listen must be HOST:PORT or off, with a PORT from 0 to 65535, not "127.0.0.1:65536"/
  ],
  [
    'what is no address and no block, beside another fault',
    {
      'proxy.trustedAddresses': ['10.0.0.5:993', '::1'],
      'limits.exemptAddresses': ['10.0.0.0/8', '10.0.0.0/40'],
      'backup.hour': 24
    },
    /proxy\.trustedAddresses must have addresses, or blocks such as 10\.0\.0\.0\/8, not "10\.0\.0\.5:993"\n.*limits\.exemptAddresses must have .*, not "10\.0\.0\.0\/40"\n.*backup\.hour must be <= 23, not 24$/
  ],
  [
    'an address without a port',
    { 'lmtp.listen': 'localhost' },
    /lmtp.listen must be HOST:PORT or off/
  ],
  [
    'an endpoint that is a name alone',
    { 'backup.s3.endpoint': 's3.example.org:9000' },
    /backup\.s3\.endpoint must be a URL such as https:\/\/s3\.example\.org, not "s3\.example\.org:9000"/
  ],
  [
    'a cron expression with seconds',
    { 'backup.cron': '0 0 3 * * *' },
    /backup.cron must be a cron expression of five fields, not "0 0 3 \* \* \*"/
  ],
  [
    'a day that never comes',
    { 'backup.cron': '0 3 30 2 *' },
    /backup.cron must be a cron expression/
  ],
  [
    'a text where a number belongs',
    { 'shutdown.graceMs': 'soon' },
    /shutdown.graceMs must be integer, not "soon"$/
  ],
  ['half a number', { 'shutdown.graceMs': 0.5 }, /shutdown.graceMs must be integer, not 0.5$/],
  ['a number above its range', { 'backup.hour': 24 }, /backup.hour must be <= 23, not 24$/],
  ['a number that is negative', { 'shutdown.graceMs': -1 }, /graceMs must be >= 0, not -1$/],
  [
    'a word where yes or no belongs',
    { 'imaps.isProxied': 'yes' },
    /imaps.isProxied must be boolean, not "yes"$/
  ],
  ['a number where a text belongs', { 'imap.listen': 143 }, /imap.listen must be string, not 143$/],
  ['nothing where a text belongs', { 'tls.key': null }, /tls.key must be string, not null$/],
  [
    'a text where a list belongs',
    { 'proxy.trustedAddresses': '::1' },
    /proxy.trustedAddresses must be array, not "::1"$/
  ],
  [
    'what is no text in a list, and only that',
    { 'proxy.trustedAddresses': ['::1', 7, '127.0.0.1', {}] },
    /^command line: proxy.trustedAddresses must be string, not 7\n.*must be string, not {}$/
  ],
  ['an empty text where one is needed', { data: '' }, /data must not be empty, not ""$/],
  [
    'a domain that cannot be one',
    { defaultDomain: 'no domain' },
    /defaultDomain must be a domain, not "no domain"$/
  ]
])) {
  test(`refused: ${title}`, () => {
    assertInvalid(() => loadConfig({ environment: {}, settings }), pattern)
  })
}

test('the last port is one', () => {
  const settings = { 'lmtp.listen': '[::1]:65535', 'imap.listen': 'localhost:0' }
  const { lmtp, imap } = loadConfig({ environment: {}, settings })
  assert.deepEqual([lmtp.listen, imap.listen], ['[::1]:65535', 'localhost:0'])
})

test('all complaints come at once', () => {
  assertInvalid(
    () => loadConfig({ environment: {}, settings: { 'imap.listn': 'off', 'lmtp.listen': 'x' } }),
    /imap\.listn[^]*lmtp\.listen/
  )
})

test('a missing or broken file is named', () => {
  assertInvalid(
    () => loadConfig({ environment: {}, file: '/nonexistent.json' }),
    /nonexistent\.json cannot be read \(ENOENT\)/
  )
})

test('PM2 replaces one worker after the other, whatever the environment says', () => {
  const environment = clusterEnvironment('/data', { PM2_CONCURRENT_ACTIONS: '2', LANG: 'C' })
  assert.equal(environment['PM2_CONCURRENT_ACTIONS'], '1')
  assert.equal(environment['NODE_CLUSTER_SCHED_POLICY'], 'none')
  assert.deepEqual([environment.PM2_HOME, environment['LANG']], ['/data/pm2', 'C'])
})

test('the daemon of PM2 has no settings, which its workers would keep for ever', () => {
  const proxies = { HTTPS_PROXY: 'http://proxy:3128', no_proxy: 'localhost' }
  const settings = { LETTERLOCK_LOG_LEVEL: 'debug', AWS_REGION: 'eu-west-1', ...proxies }
  const environment = { ...settings, PM2_HOME: '/pm2' }
  assert.deepEqual(daemonEnvironment(environment), { PM2_HOME: '/pm2' })
})

test('a proxy without a scheme is one of HTTP, as for other programs', () => {
  const proxies = { https_proxy: 'proxy:3128', HTTP_PROXY: 'http://proxy:1', NO_PROXY: 'a.test' }
  assert.deepEqual(proxyEnvironment({ ...proxies, ALL_PROXY: 'proxy:2', LANG: 'C' }), {
    ...proxies,
    https_proxy: 'http://proxy:3128'
  })
  assert.deepEqual(proxyEnvironment({ HTTPS_PROXY: '' }), { HTTPS_PROXY: '' })
})

test('a process is the first under PM2 until it is started again', () => {
  assert.equal(isFirstUnderPm2({ pm_id: '0', restart_time: '0' }), true)
  assert.equal(isFirstUnderPm2({ pm_id: '0', restart_time: '1' }), false)
  assert.equal(isFirstUnderPm2({}), false)
})

test('PM2, systemd and production count as supervised', () => {
  assert.equal(isSupervised({}), false)
  assert.equal(isSupervised({ pm_id: '0' }), true)
  assert.equal(isSupervised({ INVOCATION_ID: 'x' }), true)
  assert.equal(isSupervised({ NODE_ENV: 'production' }), true)
})

test('a file may begin with the mark of byte order that some editors write', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'letterlock.json')
  writeFileSync(file, '\uFEFF{ "defaultDomain": "example.org" }')
  assert.equal(loadConfig({ file, environment: {} }).defaultDomain, 'example.org')
})

for (const [title, text, line] of /** @type {[string, string, number][]} */ ([
  ['a word that is none', '{\n  "data": "x",\n  "defaultDomain": example.org\n}\n', 3],
  ['a comma that lacks', '{\n  "data": "x"\n  "defaultDomain": "example.org"\n}\n', 3],
  ['a comma too much', '{\n  "data": "x",\n}\n', 3],
  ['a text that does not end', '{\n  "data": "x,\n  "defaultDomain": "y"\n}\n', 2],
  ['a brace that lacks', '{\n  "imap": {\n    "listen": "off"\n}\n', 4],
  ['a comment', '// settings\n{}\n', 1],
  ['nothing', '', 1]
])) {
  test(`a file that is not JSON is named with its line: ${title}`, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'letterlock-config-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'letterlock.json')
    writeFileSync(file, text)
    assertInvalid(
      () => loadConfig({ file, environment: {} }),
      new RegExp(`letterlock\\.json is not JSON: see line ${line}$`)
    )
  })
}

test('a file that holds JSON and no object is told so', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'letterlock.json')
  for (const text of ['[]', '[{ "data": "x" }]', 'null', '"x"', '1']) {
    writeFileSync(file, text)
    assertInvalid(
      () => loadConfig({ file, environment: {} }),
      /letterlock\.json must hold an object: /
    )
  }
})
