import assert from 'node:assert/strict'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../../config/load.js'
import { checkStart } from '../../../scripts/cluster/check.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/**
 * @param {string} data
 * @param {Record<string, unknown>} [settings] - dotted names as in config/default.js
 */
const check = (data, settings = {}) =>
  checkStart(loadConfig({ settings: { data, ...settings }, environment: {} }))

test('what can be known to be wrong with sockets is told before a worker is started', async (t) => {
  const data = await scratchFolder(t)
  const missing = join(data, 'missing', 'socket')
  const there = join(data, 'socket')
  await check(data, { 'admin.socket': there, 'sasl.socket': join(data, 'other') })
  for (const [settings, detail] of /** @type {const} */ ([
    [{ 'admin.socket': missing }, /^admin\.socket: there is no folder/],
    [{ 'sasl.socket': missing }, /^sasl\.socket: there is no folder/],
    [{ 'sasl.socket': there, 'sasl.group': 'nobody-here' }, /nobody-here/]
  ]))
    await assert.rejects(check(data, settings), { code: 'CONFIG_INVALID', detail })
})

test('where the directory is damaged no worker is started', async (t) => {
  const data = await scratchFolder(t)
  await check(data)
  const directory = join(data, 'directory.db')
  await rename(directory, `${directory}.aside`)
  await writeFile(directory, 'x'.repeat(8192))
  await assert.rejects(check(data), { code: 'DIRECTORY_DAMAGED' })
  await rm(directory)
  await rename(`${directory}.aside`, directory)
  await check(data)
})
