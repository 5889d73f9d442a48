import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAccounts, letterlock, scratchFolder } from '../helpers/process.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'

const MIB = 1024 * 1024

test(
  'an import that fills the disk says so in one line, and goes on when there is room',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 48 * MIB)
    const source = scratchFolder(t, 'full')
    const data = join(disk.root, 'data')
    mkdirSync(data)
    await createAccounts(data, ['ann@example.org'])
    for (let n = 0; n < 260; n++) {
      const noise = randomBytes(40_000).toString('base64')
      writeFileSync(join(source, `${n}.eml`), `Subject: ${n}\n\n${noise}\n`)
    }
    const run = () =>
      letterlock(['import', '--data', data, '--password-stdin', source], {
        input: 'pass\n',
        environment: { LETTERLOCK_LOG_LEVEL: 'silent' }
      })
    disk.fill(9 * MIB)
    const full = await run()
    assert.equal(full.stderr, 'letterlock: The import ended early: There is no room on the disk\n')
    const stored = Number(/^imported (\d+), /m.exec(full.stdout)?.[1])
    assert.equal(full.code, stored > 0 ? 1 : 2)
    disk.clear()
    const { code, stdout } = await run()
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`^imported ${260 - stored}, skipped ${stored} `, 'm'))
  }
)
