/** COPY and MOVE of many messages, few by few or all at once, keep of each what RFC 3501 §6.4.7 says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

/** @import { WireClient } from '../../helpers/wire-client.js' */

const MESSAGES = 1210

/** Which of them: sets of each kind that is done in a way of its own, in the shortest form. */
const SETS = {
  'one run': '5:1004',
  'runs and single ones': '1:10,50:60,90,1000:1200',
  'more than a thousand': '1:1200',
  'a few scattered ones': numbers(3, 300, 7),
  'many scattered ones': numbers(2, 1200, 2)
}

/**
 * @param {number} first
 * @param {number} last
 * @param {number} step
 */
function numbers(first, last, step) {
  const list = []
  for (let number = first; number <= last; number += step) list.push(number)
  return list.join()
}

/** @param {WireClient} client */
async function appendMany(client) {
  const messages = Array.from({ length: MESSAGES }, (_, index) => {
    const flags = [index % 3 === 0 && '\\Seen', index % 5 === 0 && '$Fifth', '\\Flagged']
    const text = `Subject: number ${index}\r\n\r\n${'x'.repeat(index % 40)}\r\n`
    const day = String(1 + (index % 28)).padStart(2, '0')
    return ` (${flags.filter(Boolean).join(' ')}) "${day}-Mar-2024 10:00:00 +0${index % 10}00" {${text.length}+}\r\n${text}`
  })
  client.send(`a1 APPEND INBOX${messages.join('')}\r\n`)
  assert.match(await client.until(/a1 [^\r]*\r\n/), /^a1 OK/m)
}

/**
 * @param {WireClient} client - with the mailbox selected
 * @param {string} set
 * @returns {Promise<string[]>} what COPY keeps of each, by UID
 */
async function readKept(client, set) {
  const answer = await client.command(
    `UID FETCH ${set} (FLAGS INTERNALDATE RFC822.SIZE EMAILID ENVELOPE)`
  )
  return [...answer.matchAll(/^\* \d+ FETCH \(UID \d+ (.*)\)\r$/gm)].map(([, kept = '']) =>
    kept.replace(' \\Recent', '')
  )
}

for (const command of ['COPY', 'MOVE']) {
  for (const [name, set] of Object.entries(SETS)) {
    test(`${command} of ${name}`, async (t) => {
      const client = await loggedIn(t, await startImapServer(t))
      await appendMany(client)
      await client.command('CREATE target')
      await client.command('SELECT INBOX')
      const before = await readKept(client, set)
      const answer = await client.command(`${command} ${set} target`)
      const [, from = '', to = ''] = /\[COPYUID \d+ (\S+) (\S+)\]/.exec(answer) ?? []
      assert.equal(from, set)
      assert.equal(to, `1:${before.length}`)
      const left = command === 'COPY' ? MESSAGES : MESSAGES - before.length
      assert.match(
        await client.command('STATUS INBOX (MESSAGES)'),
        new RegExp(`\\(MESSAGES ${left}\\)`)
      )
      const unseen = before.filter((kept) => !kept.includes('\\Seen')).length
      assert.match(
        await client.command('STATUS target (MESSAGES UNSEEN)'),
        new RegExp(`MESSAGES ${before.length} UNSEEN ${unseen}`)
      )
      await client.command('SELECT target')
      assert.deepEqual(await readKept(client, '1:*'), before)
    })
  }
}
