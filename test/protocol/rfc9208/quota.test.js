import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeBeside } from '../../helpers/beside.js'
import { append, select } from '../../helpers/dialogue.js'
import { loggedIn, selectMany } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'
import { countTurns } from '../../helpers/turns.js'

const kilobyte = `Subject: x\r\n\r\n${'y'.repeat(1024 - 16)}\r\n`

test('GETQUOTAROOT and GETQUOTA tell usage and limits, STORAGE in units of 1024 (RFC 9208 §4, §5)', async (t) => {
  const server = await startImapServer(t, {
    settings: { 'accounts.quotaBytes': 5000, 'accounts.quotaMessages': 3 }
  })
  await transcript(
    server,
    `
    C: a GETQUOTAROOT INBOX
    S: * QUOTAROOT INBOX ""
    S: * QUOTA "" (STORAGE 0 4 MESSAGE 0 3)
    S: a OK ...
    ${append('INBOX', { message: kilobyte })}
    ${append('INBOX')}
    C: b GETQUOTA ""
    S: * QUOTA "" (STORAGE 2 4 MESSAGE 2 3)
    S: b OK ...
    C: c GETQUOTAROOT "not yet there"
    S: * QUOTAROOT "not yet there" ""
    S: * QUOTA "" (STORAGE 2 4 MESSAGE 2 3)
    S: c OK ...
    C: d GETQUOTA other
    S: d NO [NONEXISTENT] ...
    C: e GETQUOTA
    S: e BAD ...
    C: f SETQUOTA "" (STORAGE 10)
    S: f BAD ...
    `
  )
})

test('what is over quota is NO [OVERQUOTA], by APPEND and by COPY (RFC 9208 §4.3.1)', async (t) => {
  const server = await startImapServer(t, { settings: { 'accounts.quotaMessages': 2 } })
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    C: a APPEND INBOX {10}
    S: a NO [OVERQUOTA] ...
    ${select('INBOX', { exists: 2 })}
    C: b COPY 1 Archive
    S: b NO [OVERQUOTA] ...
    C: c MOVE 1 Archive
    S: * OK [COPYUID ...
    S: * 1 EXPUNGE
    S: * 1 RECENT
    S: c OK ...
    `
  )
})

test('without a limit there is no quota root, with one limit one resource (RFC 9208 §4.2)', async (t) => {
  const none = { 'accounts.quotaBytes': 0, 'accounts.quotaMessages': 0 }
  await transcript(
    await startImapServer(t, { settings: none }),
    `
    C: a GETQUOTAROOT INBOX
    S: * QUOTAROOT INBOX
    S: a OK ...
    C: b GETQUOTA ""
    S: b NO [NONEXISTENT] ...
    `
  )
  await transcript(
    await startImapServer(t, { settings: { ...none, 'accounts.quotaMessages': 9 } }),
    `
    C: a GETQUOTA ""
    S: * QUOTA "" (MESSAGE 0 9)
    S: a OK ...
    `
  )
})

test('STATUS DELETED and DELETED-STORAGE tell what an expunge would free (RFC 9208 §4.1.4)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a STATUS INBOX (DELETED DELETED-STORAGE)
    S: * STATUS INBOX (DELETED 0 DELETED-STORAGE 0)
    S: a OK ...
    ${append('INBOX', { message: kilobyte, flags: '\\Deleted' })}
    ${append('INBOX')}
    ${append('INBOX', { message: kilobyte, flags: '\\Deleted \\Seen' })}
    ${append('Archive', { message: kilobyte, flags: '\\Deleted' })}
    C: b STATUS INBOX (DELETED-STORAGE DELETED SIZE)
    S: * STATUS INBOX (DELETED-STORAGE 2048 DELETED 2 SIZE {{size}})
    S: b OK ...
    `
  )
})

test('DELETED-STORAGE of many messages lets others have their turn', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  await selectMany(client, 14)
  await client.command('STORE 1:* +FLAGS.SILENT (\\Deleted)')
  const store = await storeBeside(t, server)
  const { id, totalBytes } = await store.mailboxStatus('INBOX')
  const { answer, turns } = await countTurns(() => store.deletedBytes(id))
  assert.equal(answer, totalBytes)
  assert.ok(turns >= 4, `${turns} turns`)
})
