import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { diskTrouble, diskTroubleNow } from '../../../src/support/disk-trouble.js'
import { scratchFolder } from '../../helpers/account-folder.js'

for (const look of [diskTrouble, diskTroubleNow]) {
  test(`${look.name} leaves nothing behind, and takes away what a crash has left of it`, async (t) => {
    const folder = await scratchFolder(t)
    assert.equal(await look(folder), null)
    assert.deepEqual(readdirSync(folder), [])
    mkdirSync(join(folder, '.probe', '.probe'), { recursive: true })
    assert.equal(await look(folder), null)
    assert.deepEqual(readdirSync(folder), [])
  })

  test(`${look.name} is not about a folder that is missing, or closed to this user`, async (t) => {
    const folder = await scratchFolder(t)
    assert.equal(await look(join(folder, 'missing')), null)
    chmodSync(folder, 0o500)
    assert.equal(await look(folder), null)
    chmodSync(folder, 0o700)
  })
}
