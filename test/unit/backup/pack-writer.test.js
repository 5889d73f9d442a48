import assert from 'node:assert/strict'
import { closeSync, readdirSync, readlinkSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { PackWriter } from '../../../src/backup/pack-writer.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'

/** @param {string} folder - closes the one file in it that is open, behind the back of whoever has it */
function closeFileIn(folder) {
  for (const descriptor of readdirSync('/proc/self/fd')) {
    try {
      if (!readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(`${folder}/`)) continue
    } catch {
      // The descriptor of the listing itself.
      continue
    }
    return closeSync(Number(descriptor))
  }
  assert.fail('no file is open there')
}

test(
  'after a pack whose file fails to close nothing counts as stored, whoever was told of it',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'letterlock-packs-'))
    t.after(() => rm(folder, { recursive: true }))
    const scratchFolder = join(folder, 'scratch')
    const stored = join(folder, 'stored')
    await mkdir(scratchFolder)
    await mkdir(stored)
    const packs = new PackWriter({ target: openFolderTarget(stored), scratchFolder })
    await packs.add(Buffer.from('of one account'))
    closeFileIn(scratchFolder)
    await assert.rejects(packs.flush(), { code: 'EBADF' })
    // As for the account after it, and for the manifest.
    await packs.add(Buffer.from('of another'))
    await assert.rejects(packs.flush(), { code: 'EBADF' })
    await packs.abort()
    const entries = await readdir(stored, { recursive: true, withFileTypes: true })
    assert.ok(!entries.some((entry) => entry.isFile()))
  }
)
