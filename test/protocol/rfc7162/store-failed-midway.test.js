/**
 * A STORE of many messages is many transactions: of one that fails on its way some have been through, and stay.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBeside } from '../../helpers/beside.js'
import { SMALL_MESSAGE } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient } from '../../helpers/transcript.js'

const COUNT = 1500
const APPEND = `APPEND INBOX${` {${SMALL_MESSAGE.length}+}\r\n${SMALL_MESSAGE}`.repeat(COUNT)}`

for (const isSilent of [false, true]) {
  const how = isSilent ? 'silently' : 'with answers'

  test(`a STORE ${how} that fails midway tells what it has changed (RFC 7162 §3.1)`, async (t) => {
    const server = await startImapServer(t)
    const client = await LineClient.connect(server)
    t.after(() => client.close())
    await client.login()
    await client.command('ENABLE CONDSTORE')
    await client.command(APPEND)
    await client.command('SELECT INBOX')
    const db = await openBeside(server)
    t.after(() => db.close())
    db.exec(`CREATE TRIGGER failing BEFORE UPDATE ON messages WHEN NEW.id % 4294967296 = ${COUNT}
      BEGIN SELECT RAISE(ABORT, 'of the test'); END`)
    // With a gap they are changed one by one, a thousand at once.
    const set = `1,3:${COUNT}`
    const told = await client.command(
      `UID STORE ${set} +FLAGS${isSilent ? '.SILENT' : ''} (\\Flagged)`
    )
    assert.match(told.at(-1) ?? '', / NO /)
    server.unexpected.length = 0
    const flagged = told.filter((line) => / FETCH .*\\Flagged/.test(line))
    const found = await client.command('UID SEARCH RETURN (COUNT) FLAGGED')
    assert.ok(flagged.length > 0 && flagged.length < COUNT, `${flagged.length} were told`)
    assert.match(found.join('\n'), new RegExp(` COUNT ${flagged.length}\\b`))
  })
}
