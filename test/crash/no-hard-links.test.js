/**
 * A file system that has one name for each file, as those of USB sticks and shares: what is put into its place by a hard link
 * elsewhere comes there all the same.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAccounts, letterlock, scratchFolder } from '../helpers/process.js'
import { missing } from '../helpers/programs.js'

const USER = 'user@example.org'

test(
  'a mailbox is exported to one file where there are no hard links, and nothing is left of it where that fails',
  { skip: missing('strace') },
  async (t) => {
    const folder = scratchFolder(t, 'no-hard-links')
    const [data, out] = /** @type {[string, string]} */ (
      ['data', 'out'].map((name) => join(folder, name))
    )
    for (const path of [data, out]) mkdirSync(path)
    await createAccounts(data, [USER])
    const file = join(out, 'user.letterlock')
    const run = (/** @type {string[]} */ ...inject) =>
      letterlock(
        ['export', '--account', USER, '--password-stdin', '--data', data, '--file', file],
        {
          input: 'pass\n',
          wrapper: [
            ...['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=?link,linkat,?rename'],
            ...['inject=?link,linkat:error=EPERM', ...inject].flatMap((rule) => ['-e', rule])
          ]
        }
      )
    assert.notEqual((await run('inject=?rename:error=EIO')).code, 0)
    assert.deepEqual(readdirSync(out), [])
    const made = await run()
    assert.equal(made.code, 0, made.stderr)
    assert.deepEqual(readdirSync(out), ['user.letterlock'])
    assert.match(readFileSync(file, 'latin1'), /^letterlock portable mailbox 1\n/)
  }
)
