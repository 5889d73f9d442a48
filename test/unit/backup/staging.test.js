import assert from 'node:assert/strict'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { RateLimit } from '../../../src/backup/rate-limit.js'
import { Staging } from '../../../src/backup/staging.js'
import { UNIT_BYTES } from '../../../src/backup/snapshot-format.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ staging: Staging, scratch: string, files: import('../../../src/backup/staging.js').StagedFile[] }>}
 *   with one file of two units and a half
 */
async function stageOne(t) {
  const folder = await scratchFolder(t)
  const source = join(folder, 'source')
  const scratch = join(folder, 'units')
  await writeFile(source, bytesOf(2.5 * UNIT_BYTES))
  const staging = await Staging.open(scratch, new RateLimit(0))
  t.after(() => staging.close())
  const known = /** @type {any} */ ({ find: () => null })
  const onRead = () => {}
  const size = 2.5 * UNIT_BYTES
  return {
    staging,
    scratch,
    files: [await staging.stage({ source, path: 'x', size, known, onRead })]
  }
}

/**
 * @param {number} count
 * @returns {Buffer} of which no two units are alike
 */
const bytesOf = (count) =>
  Buffer.from(Uint8Array.from({ length: count }, (_, at) => (at * 7 + (at >> 8)) & 0xff))

test('what was staged comes back unit by unit, as it was read', async (t) => {
  const { staging, files } = await stageOne(t)
  const pieces = []
  for await (const { bytes } of staging.units(files)) pieces.push(Buffer.from(bytes ?? []))
  assert.deepEqual(Buffer.concat(pieces), bytesOf(2.5 * UNIT_BYTES))
})

test('a scratch file that somebody has cut gives no bytes of another unit', async (t) => {
  const { staging, scratch, files } = await stageOne(t)
  await truncate(scratch, 1.5 * UNIT_BYTES)
  const hashes = []
  await assert.rejects(async () => {
    for await (const { hash } of staging.units(files)) hashes.push(hash)
  }, /units became shorter$/)
  assert.equal(hashes.length, 1)
})
