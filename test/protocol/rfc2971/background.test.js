/**
 * iOS Mail says in ID that it only fills its store in the background, and may be asked to come back later (Apple, TN3189).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

/** @param {string} event - as it stands in the command */
const idOf = (event) =>
  `ID ("name" "com.apple.email.maild" "os" "iOS" "vendor" "Apple Inc" "event" ${event})`

test('one too many is asked to come back later; it goes on where it is, and has room when another is done', async (t) => {
  const server = await startImapServer(t, { settings: { 'imap.maxBackgroundDownloads': 1 } })
  await transcript(
    server,
    `
    1C: a ${idOf('"back-fill"')}
    1S: * ID ("name" ...
    1S: a OK ...
    2C: a ${idOf('"periodic,back-fill"')}
    2S: * ID ("name" ...
    2S: a NO [UNAVAILABLE] ...
    2C: b NOOP
    2S: b OK ...
    1C: b ${idOf('"indexer"')}
    1S: * ID ("name" ...
    1S: b OK ...
    1C: c ${idOf('NIL')}
    1S: * ID ("name" ...
    1S: c OK ...
    2C: c ${idOf('"back-fill"')}
    2S: * ID ("name" ...
    2S: c OK ...
    1C: d ${idOf('"indexer"')}
    1S: * ID ("name" ...
    1S: d NO [UNAVAILABLE] ...
    2C: d LOGOUT
    2S: * BYE ...
    2S: d OK ...
    2S! closed
    1C: e ${idOf('"indexer"')}
    1S: * ID ("name" ...
    1S: e OK ...
    `
  )
})

/** @type {[string, boolean][]} */
const SAID = [
  [idOf('"back-fill"'), true],
  [idOf('"indexer"'), true],
  [idOf('"periodic, back-fill"'), true],
  [idOf('"indexer,something-new"'), true],
  [idOf('"periodic,push"'), false],
  [idOf('"back-fills"'), false],
  [idOf('""'), false],
  [idOf('NIL'), false],
  ['ID ("name" "com.apple.email.search-indexer" "event" "indexer")', true],
  ['ID ("name" "com.apple.email.search-indexer")', false],
  ['ID ("name" "Mail" "event" "back-fill")', false],
  ['ID ("event" "back-fill")', false],
  ['ID NIL', false]
]

test('only Apple’s programs, and only what can wait, are asked to come back later', async (t) => {
  const server = await startImapServer(t, { settings: { 'imap.maxBackgroundDownloads': 0 } })
  const client = await LineClient.connect(server)
  await client.login()
  for (const [command, isRefused] of SAID) {
    const answer = (await client.command(command)).at(-1) ?? ''
    assert.match(answer, isRefused ? /^t NO \[UNAVAILABLE\] / : /^t OK /, command)
  }
  client.close()
})

test('a process beyond its means takes none; those that are there are counted', async (t) => {
  let isUnderPressure = false
  const server = await startImapServer(t, { admits: () => !isUnderPressure })
  const [one, other, stranger] = await Promise.all([1, 2, 3].map(() => LineClient.connect(server)))
  assert.ok(one && other && stranger)
  for (const client of [one, other]) await client.login()
  // Before the login it takes the room of nobody.
  for (const client of [one, stranger])
    assert.match((await client.command(idOf('"back-fill"'))).at(-1) ?? '', /^t OK /)
  assert.equal(server.imap.counts().background, 1)
  isUnderPressure = true
  const refused = await other.command(idOf('"back-fill"'))
  assert.match(refused.at(-1) ?? '', /^t NO \[UNAVAILABLE\] /)
  assert.match((await other.command(idOf('NIL'))).at(-1) ?? '', /^t OK /)
  assert.equal(server.imap.counts().background, 1)
  for (const client of [one, other, stranger]) client.close()
})
