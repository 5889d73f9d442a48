/**
 * The account directory on a disk that is full: what it has committed is done, whatever becomes of its log.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDirectory } from '../../src/accounts/directory.js'
import { credential, newAccount } from '../helpers/directory-rows.js'
import { isOnDisk } from '../helpers/disk-search.js'
import { recordingLogger } from '../helpers/log-lines.js'
import { ManualClock } from '../helpers/manual-clock.js'
import { smallDisk, smallDiskIsMissing } from '../helpers/small-disk.js'

/** Room for the frames of one small transaction, and not for all pages that wait in the log. */
const LEFT_BYTES = 128 * 1024

test(
  'a credential that was changed is changed, also where the log cannot be emptied for want of room',
  { skip: smallDiskIsMissing },
  async (t) => {
    const { root, fill, clear } = smallDisk(t, 8 * 1024 * 1024)
    const data = join(root, 'data')
    await mkdir(data)
    const path = join(data, 'directory.db')
    const { logger, lines } = recordingLogger()
    const directory = openDirectory({
      path,
      defaultDomain: 'example.org',
      clock: new ManualClock(),
      logger
    })
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount(input)
    for (let index = 0; index < 100; index++)
      await directory.createAccount(newAccount(data, `other${index}@example.org`))
    const old = await directory.findSingleCredential(input.id, 'password')
    const next = credential(input.id, { id: String(old?.id), version: 2 })
    fill(LEFT_BYTES)
    assert.equal(await directory.replaceCredentials([next], { version: 1 }), true)
    assert.ok(lines.some(({ msg }) => /log cannot be truncated/.test(String(msg))))
    assert.equal((await directory.findCredential(next.id))?.version, 2)
    directory.audit({ action: 'password-change', accountId: input.id })
    await directory.flush()
    clear()
    await directory.flush()
    assert.equal((await directory.listAudit({ accountId: input.id })).length, 1, 'written once')
    assert.equal(isOnDisk(path, old?.wrappedKey ?? Buffer.of(0)), false)
    await directory.close()
  }
)
