import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { madeMessage, missing, readMailbox, run, startMailServer } from '../helpers/programs.js'

test(
  'swaks delivers by LMTP to a closed mailbox, to a tag, and live; strangers are refused',
  { skip: missing('swaks') },
  async (t) => {
    const mail = await startMailServer(t)
    const file = join(mail.scratch, 'message.eml')
    const deliver = (/** @type {string} */ to, /** @type {number} */ number) => {
      writeFileSync(file, madeMessage(number).toString().replaceAll('\r', ''))
      return run('swaks', [
        ...['--protocol', 'LMTP', '--server', '127.0.0.1', '--port', String(mail.ports.lmtp)],
        ...['--from', 'ada@example.net', '--to', to, '--data', `@${file}`]
      ])
    }
    for (const [number, to] of [
      'anna@example.org',
      'anna+lists@example.org',
      'ANNA@Example.ORG'
    ].entries()) {
      const { code, output } = await deliver(to, number)
      assert.equal(code, 0, output)
      assert.match(output, /^<-\s+250 2\.0\.0 /m)
    }
    const refused = await deliver('nobody@example.org', 9)
    assert.notEqual(refused.code, 0)
    assert.match(refused.output, /^<\*\* 550 5\.1\.1 /m)

    const client = await mail.login()
    const delivered = await readMailbox(client, 'INBOX')
    assert.equal(delivered.length, 3)
    for (const [number, { bytes }] of delivered.entries()) {
      const text = bytes.toString()
      assert.match(text, /^Return-Path: <ada@example\.net>\r\nDelivered-To: anna/i)
      assert.ok(text.includes(`\r\nSubject: number ${number}\r\n`))
      // swaks ends what it sends with a blank line of its own.
      assert.ok(text.endsWith(`\r\n\r\nGrüße ${number}\r\n\r\n`))
    }

    await client.command('SELECT INBOX')
    client.send('i IDLE\r\n')
    await client.until(/^\+ .*\r\n/m)
    assert.equal((await deliver('anna@example.org', 4)).code, 0)
    await client.until(/^\* 4 EXISTS\r\n/m)
  }
)
