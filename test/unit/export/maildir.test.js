import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { maildirTarget } from '../../../src/export/write-maildir.js'
import { scratchFolder } from '../../helpers/account-folder.js'

const EPOCH = 1_500_000_000

/**
 * @param {import('node:test').TestContext} t
 * @param {{ flags: string[], epochSeconds?: number }[]} messages
 */
async function write(t, messages) {
  const folder = await scratchFolder(t)
  const writer = await maildirTarget(folder).openMailbox('INBOX')
  for (const [index, { flags, epochSeconds = EPOCH }] of messages.entries())
    await writer.write({
      uid: index + 1,
      flags,
      internalDate: { epochSeconds, zoneMinutes: 0 },
      size: 5,
      endsLine: async () => false,
      read: async function* () {
        yield Buffer.from('ab: c')
      }
    })
  await writer.close()
  const names = readdirSync(join(folder, 'cur')).sort()
  return { folder, names }
}

test('names of messages begin with their dates, and have their flags in the order of the alphabet', async (t) => {
  const { folder, names } = await write(t, [
    { flags: ['\\Seen', '\\Answered', '\\Flagged', '\\Deleted', '\\Draft', '$Forwarded'] },
    { flags: ['Zoo', '\\Seen', 'Ape'] },
    { flags: ['Ape', 'Zoo', '\\Answered'] },
    // A time before 1970 is none that a name or a file can have.
    { flags: [], epochSeconds: -86_400 }
  ])
  assert.deepEqual(names, [
    '0.U4.letterlock,S=5:2,',
    `${EPOCH}.U1.letterlock,S=5:2,DFPRST`,
    `${EPOCH}.U2.letterlock,S=5:2,Sab`,
    `${EPOCH}.U3.letterlock,S=5:2,Rab`
  ])
  assert.equal(readFileSync(join(folder, 'dovecot-keywords'), 'utf8'), '0 Zoo\n1 Ape\n')
  assert.deepEqual(
    names.map((name) => statSync(join(folder, 'cur', name)).mtimeMs),
    [0, EPOCH, EPOCH, EPOCH].map((seconds) => seconds * 1000)
  )
})

test('of more keywords than there are letters, those that come first have them', async (t) => {
  const keywords = Array.from({ length: 28 }, (_, index) => `k${index}`)
  const { folder, names } = await write(t, [{ flags: keywords }, { flags: ['k27', 'k25'] }])
  assert.deepEqual(names, [
    `${EPOCH}.U1.letterlock,S=5:2,abcdefghijklmnopqrstuvwxyz`,
    `${EPOCH}.U2.letterlock,S=5:2,z`
  ])
  const lines = readFileSync(join(folder, 'dovecot-keywords'), 'utf8').trimEnd().split('\n')
  assert.deepEqual([lines.length, lines.at(-1)], [26, '25 k25'])
})

test('a dot in a name of a mailbox divides no levels', async (t) => {
  const folder = await scratchFolder(t)
  const target = maildirTarget(folder)
  for (const name of ['a/b', 'a.b', 'a_b']) await (await target.openMailbox(name)).close()
  const folders = readdirSync(folder).filter((name) => name.startsWith('.'))
  assert.deepEqual(folders.sort(), ['.a.b', '.a_b', '.a_b 2'])
})
