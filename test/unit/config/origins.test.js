/**
 * What comes from the file and from the environment, and what of it is still known where it is wrong.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { findDataFolder, loadConfig, workerSlot } from '../../../config/load.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {unknown} settings
 * @returns {string} a file that holds them
 */
function fileOf(t, settings) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'letterlock.json')
  writeFileSync(file, typeof settings === 'string' ? settings : JSON.stringify(settings))
  return file
}

test('the environment names the file, unless the command line does', (t) => {
  const LETTERLOCK_CONFIG = fileOf(t, { defaultDomain: 'example.net' })
  const environment = { LETTERLOCK_CONFIG }
  assert.equal(loadConfig({ environment }).defaultDomain, 'example.net')
  const file = fileOf(t, { imap: { listen: 'off' } })
  const { imap, defaultDomain } = loadConfig({ environment, file })
  assert.deepEqual([imap.listen, defaultDomain], ['off', 'localhost'])
})

test('what is wrong in the file is told with the name of the file', (t) => {
  const file = fileOf(t, { imap: { listn: 'off' }, shutdown: { graceMs: 'soon' } })
  assert.throws(() => loadConfig({ file, environment: {} }), {
    code: 'CONFIG_INVALID',
    detail: `${file}: unknown key "imap.listn", did you mean "imap.listen"?\n${file}: shutdown.graceMs must be integer, not "soon"`
  })
})

test('a variable may be empty, false or a number in figures alone', () => {
  const { limits, backup } = loadConfig({
    environment: { LETTERLOCK_LIMITS_EXEMPT_ADDRESSES: '', LETTERLOCK_BACKUP_IS_NIGHTLY: 'false' }
  })
  assert.deepEqual([limits.exemptAddresses, backup.isNightly], [[], false])
  for (const text of ['', ' 5', '5 ', '1e3', '-1', '0x10', '1.5'])
    assert.throws(() => loadConfig({ environment: { LETTERLOCK_SHUTDOWN_GRACE_MS: text } }), {
      code: 'CONFIG_INVALID',
      detail: `environment: shutdown.graceMs must be integer, not ${JSON.stringify(text)}`
    })
})

test('paths are made absolute, and those that are not set stay empty', () => {
  const { data, tls } = loadConfig({
    environment: {},
    settings: { data: 'x', 'tls.key': 'y/../z' }
  })
  assert.deepEqual([data, tls.key, tls.certificate], [resolve('x'), resolve('z'), ''])
})

test('the data folder is found out also where other settings are wrong', (t) => {
  const wrong = { LETTERLOCK_IMAP_LISTEN: 'nowhere' }
  const file = fileOf(t, { data: '/from/file', 'imap.listn': 'off' })
  for (const [
    environment,
    data,
    isValid
  ] of /** @type {[NodeJS.ProcessEnv, string, boolean][]} */ ([
    [{}, resolve('data'), true],
    [{ LETTERLOCK_DATA: 'mail' }, resolve('mail'), true],
    [wrong, resolve('data'), false],
    [{ ...wrong, LETTERLOCK_DATA: 'mail' }, resolve('mail'), false],
    [{ LETTERLOCK_CONFIG: file }, '/from/file', false],
    [{ LETTERLOCK_CONFIG: file, LETTERLOCK_DATA: '/other' }, '/other', false]
  ]))
    assert.deepEqual(findDataFolder(environment), { data, isValid })
  const unknown = [
    { LETTERLOCK_DATA: '' },
    { LETTERLOCK_CONFIG: fileOf(t, { data: 7 }) },
    { LETTERLOCK_CONFIG: fileOf(t, '{') }
  ]
  for (const environment of unknown)
    assert.throws(() => findDataFolder(environment), { code: 'CONFIG_INVALID' })
})

test('a worker’s place is a number of few digits', () => {
  const told = ['0', '7', '123456', '', '-1', '1.5', 'x1', '1x', '1234567', undefined]
  assert.deepEqual(
    told.map((text) => workerSlot({ LETTERLOCK_WORKER: text })),
    [0, 7, 123456, null, null, null, null, null, null, null]
  )
})
