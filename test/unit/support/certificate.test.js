import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createSecureContext } from 'node:tls'
import { X509Certificate } from 'node:crypto'
import fs, {
  chmodSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMailError } from '../../../src/errors.js'
import { loadCertificate } from '../../../src/support/certificate.js'
import {
  certificateEnds,
  loadCertificates,
  warnOfEnded,
  watchCertificates
} from '../../../src/support/certificates.js'
import { systemClock } from '../../../src/support/clock.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { ManualClock } from '../../helpers/manual-clock.js'

/** So often it is looked whether files were read again, before it is given up that they will be. */
const LOOKS = 1000

/** @param {import('node:test').TestContext} t */
function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-tls-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

test('a self-signed certificate is made once, for localhost and loopback, its key readable by its owner alone', async (t) => {
  const folder = scratch(t)
  const options = { folder, certificateFile: '', keyFile: '', clock: systemClock }
  const first = await loadCertificate(options)
  const second = await loadCertificate(options)
  assert.equal(first.fingerprint, second.fingerprint)
  assert.ok(first.isSelfSigned)
  assert.match(first.fingerprint, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
  const parsed = new X509Certificate(first.certificate)
  assert.equal(parsed.checkHost('localhost'), 'localhost')
  assert.equal(parsed.checkIP('127.0.0.1'), '127.0.0.1')
  assert.ok(parsed.validToDate.getTime() > systemClock.nowMs() + 3000 * 86_400_000)
  assert.equal(statSync(join(folder, 'key.pem')).mode & 0o777, 0o600)
  createSecureContext({ cert: first.certificate, key: first.key })
})

test('a self-signed certificate that was made while the clock was wrong holds when it is right', async (t) => {
  for (const year of [1970, 2000, 2060]) {
    const clock = new ManualClock(Date.UTC(year, 0, 1))
    const options = { folder: scratch(t), certificateFile: '', keyFile: '', clock }
    const { validFromDate, validToDate } = new X509Certificate(
      (await loadCertificate(options)).certificate
    )
    assert.ok(validFromDate.getTime() <= systemClock.nowMs(), `${year}: from ${validFromDate}`)
    assert.ok(validToDate.getTime() > Date.UTC(2035, 0, 1), `${year}: to ${validToDate}`)
  }
})

test('a self-signed certificate that cannot be looked at is not made anew', async (t) => {
  const folder = scratch(t)
  const options = { folder, certificateFile: '', keyFile: '', clock: systemClock }
  const { fingerprint } = await loadCertificate(options)
  const key = join(folder, 'key.pem')
  renameSync(key, `${key}.kept`)
  symlinkSync(key, key)
  await assert.rejects(loadCertificate(options), { code: 'ELOOP' })
  unlinkSync(key)
  renameSync(`${key}.kept`, key)
  assert.equal((await loadCertificate(options)).fingerprint, fingerprint)
})

test('of several certificates the one that ends first comes first', async (t) => {
  const folder = scratch(t)
  const load = (/** @type {number} */ day) => {
    const clock = new ManualClock(day * 86_400_000)
    return loadCertificate({ folder: join(folder, String(day)), certificateFile: '', keyFile: '', clock }) // prettier-ignore
  }
  const main = await load(21_002)
  const others = await Promise.all([21_000, 21_001].map(load))
  const ends = certificateEnds({
    main,
    others: others.map(({ certificate, key }) => ({ names: [], cert: certificate, key }))
  })
  const [first = 0] = ends.map(({ endMs }) => endMs)
  assert.deepEqual(
    ends,
    [0, 1, 2].map((days) => ({ name: 'localhost', endMs: first + days * 86_400_000 }))
  )
})

test('the operator’s own certificate is taken from where the configuration says', async (t) => {
  const folder = scratch(t)
  const made = await loadCertificate({
    folder,
    certificateFile: '',
    keyFile: '',
    clock: systemClock
  })
  const own = await loadCertificate({
    folder: join(folder, 'unused'),
    certificateFile: join(folder, 'certificate.pem'),
    keyFile: join(folder, 'key.pem'),
    clock: systemClock
  })
  assert.equal(own.fingerprint, made.fingerprint)
  assert.equal(own.isSelfSigned, false)
  assert.deepEqual(own.key, readFileSync(join(folder, 'key.pem')))
})

test('half a pair, or a file that is no certificate, stops the start with the file’s name', async (t) => {
  const folder = scratch(t)
  const clock = systemClock
  await assert.rejects(
    loadCertificate({ folder, certificateFile: '/x.pem', keyFile: '', clock }),
    (error) => isMailError(error, 'CONFIG_INVALID')
  )
  const broken = join(folder, 'broken.pem')
  writeFileSync(broken, 'no certificate')
  await assert.rejects(
    loadCertificate({ folder, certificateFile: broken, keyFile: broken, clock }),
    (error) => isMailError(error, 'CONFIG_INVALID') && /broken\.pem/.test(error.detail ?? '')
  )
})

test('a key that is not that of the certificate stops the start with both names', async (t) => {
  const folder = scratch(t)
  const clock = systemClock
  const files = []
  for (const name of ['one', 'other']) {
    await loadCertificate({ folder: join(folder, name), certificateFile: '', keyFile: '', clock })
    files.push(join(folder, name, name === 'one' ? 'certificate.pem' : 'key.pem'))
  }
  const [certificateFile = '', keyFile = ''] = files
  await assert.rejects(loadCertificate({ folder, certificateFile, keyFile, clock }), {
    code: 'CONFIG_INVALID',
    detail: `the key in ${keyFile} is not that of the certificate in ${certificateFile}`
  })
  await assert.rejects(
    loadCertificates({
      folder: join(folder, 'one'),
      tls: { certificate: '', key: '', otherFolders: [join(folder, 'one')] },
      clock
    }),
    { code: 'CONFIG_INVALID', detail: /one\/fullchain\.pem cannot be read: ENOENT$/ }
  )
})

test('a key that was made readable is read again, though nothing in it has changed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = scratch(t)
  const tls = { certificate: '', key: '', otherFolders: [] }
  const parts = { folder, tls, clock: systemClock }
  await loadCertificates(parts)
  const { logger, lines } = recordingLogger()
  const watch = watchCertificates({ ...parts, onChange: () => {}, logger })
  await watch.reload()
  chmodSync(join(folder, 'key.pem'), 0o640)
  for (let looks = 0; looks < LOOKS && lines.length < 2; looks++) {
    t.mock.timers.tick(30_000)
    await sleep(10)
  }
  watch.close()
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['certificates were read again', 'certificates were read again']
  )
})

test('a certificate that is replaced while the server starts is read again at the first look', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = scratch(t)
  const parts = { folder, tls: { certificate: '', key: '', otherFolders: [] }, clock: systemClock }
  const { logger, lines } = recordingLogger()
  const look = async () => {
    t.mock.timers.tick(30_000)
    await sleep(20)
  }
  // Of one that was made by this very start there is nothing new.
  const made = watchCertificates({
    ...parts,
    inUse: await loadCertificates(parts),
    onChange: () => {},
    logger
  })
  for (let looks = 0; looks < 3; looks++) await look()
  made.close()
  assert.deepEqual(lines, [])

  const inUse = await loadCertificates(parts)
  unlinkSync(join(folder, 'key.pem'))
  const next = await loadCertificates(parts)
  /** @type {string[]} */
  const used = []
  const onChange = (/** @type {typeof next} */ { main }) => used.push(main.fingerprint)
  const watch = watchCertificates({ ...parts, inUse, onChange, logger })
  for (let looks = 0; looks < LOOKS && used.length < 1; looks++) await look()
  for (let looks = 0; looks < 3; looks++) await look()
  watch.close()
  assert.deepEqual(used, [next.main.fingerprint])
})

test('the certificates in use are used anew every day, and nothing is said of that', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const parts = { folder: scratch(t), tls: { certificate: '', key: '', otherFolders: [] } }
  const inUse = await loadCertificates({ ...parts, clock: systemClock })
  const clock = new ManualClock(systemClock.nowMs())
  const { logger, lines } = recordingLogger()
  /** @type {unknown[]} */
  const used = []
  const onChange = (/** @type {unknown} */ certificates) => used.push(certificates)
  const watch = watchCertificates({ ...parts, clock, inUse, onChange, logger })
  for (const [hours, times] of [
    [23, 0],
    [1, 1],
    [23, 1],
    [1, 2]
  ]) {
    clock.advance(Number(hours) * 3_600_000)
    t.mock.timers.tick(30_000)
    t.mock.timers.tick(30_000)
    assert.equal(used.length, times)
  }
  watch.close()
  assert.ok(used.every((certificates) => certificates === inUse))
  assert.deepEqual(lines, [])
})

for (const [what, code, tries] of /** @type {const} */ ([
  ['was out of descriptors at the look', 'EMFILE', 2],
  ['may not read it', 'EACCES', 1]
])) {
  test(`a certificate that was replaced when the server ${what} is read ${tries} times in all`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const folder = scratch(t)
    const parts = {
      folder,
      tls: { certificate: '', key: '', otherFolders: [] },
      clock: systemClock
    }
    await loadCertificates(parts)
    const { logger, lines } = recordingLogger()
    const watch = watchCertificates({ ...parts, onChange: () => {}, logger })
    // By then it knows how the files were.
    await watch.reload()
    lines.length = 0
    const refused = Object.assign(new Error(code), { code, errno: -24, syscall: 'open' })
    const reading = t.mock.method(
      fs.promises,
      'readFile',
      async () => await Promise.reject(refused)
    )
    syncBuiltinESMExports()
    const look = async () => {
      t.mock.timers.tick(30_000)
      await sleep(20)
    }
    chmodSync(join(folder, 'key.pem'), 0o640)
    for (let looks = 0; looks < LOOKS && lines.length < 1; looks++) await look()
    reading.mock.restore()
    syncBuiltinESMExports()
    for (let looks = 0; looks < LOOKS && lines.length < tries; looks++) await look()
    for (let looks = 0; looks < 3; looks++) await look()
    watch.close()
    const told = [
      'the certificates cannot be read again; those in use stay',
      'certificates were read again'
    ]
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      told.slice(0, tries)
    )
  })
}

test('a certificate that has ended is warned of, at the start and when it is read again', async (t) => {
  const folder = scratch(t)
  const parts = { folder, tls: { certificate: '', key: '', otherFolders: [] } }
  const made = await loadCertificates({ ...parts, clock: systemClock })
  const [first] = certificateEnds(made)
  const { name = '', endMs = 0 } = first ?? {}
  const { logger, lines } = recordingLogger()
  const warnings = () => lines.filter(({ level }) => level === 'warn')

  warnOfEnded(made, { clock: new ManualClock(endMs - 1000), logger })
  assert.deepEqual(lines, [])
  const clock = new ManualClock(endMs + 1000)
  warnOfEnded(made, { clock, logger })
  const watch = watchCertificates({ ...parts, clock, onChange: () => {}, logger })
  await watch.reload()
  watch.close()
  const told = [name, new Date(endMs).toISOString(), 'a certificate has ended']
  assert.deepEqual(
    warnings().map(({ name: of, endedAt, msg }) => [of, endedAt, msg]),
    [told, told]
  )
})
