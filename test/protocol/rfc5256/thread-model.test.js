/**
 * THREAD of random mailboxes beside an implementation of RFC 5256 that does nothing but follow its text.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { loggedIn } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { threadOrderedSubject, threadReferences } from '../../helpers/thread-model.js'

/** Few, so that messages have much to do with each other: replies to each other, the same id twice, circles. */
const ID = fc.integer({ min: 1, max: 9 }).map((number) => `<m${number}@x>`)

const MESSAGE = fc.record({
  id: fc.option(ID),
  references: fc.array(ID, { maxLength: 4 }),
  isInReplyTo: fc.boolean(),
  prefix: fc.constantFrom('', 'Re: ', 'Fwd: ', 'Re: [list] ', '[list] re[2]: '),
  base: fc.constantFrom('', 'tea', 'TEA', 'Coffee'),
  suffix: fc.constantFrom('', '', '', ' (fwd)'),
  day: fc.integer({ min: 1, max: 4 }),
  isFlagged: fc.boolean()
})

/** @typedef {typeof MESSAGE extends fc.Arbitrary<infer Message> ? Message : never} Message */

/**
 * @param {Message} message
 * @returns {string[]} of which the model takes note
 */
const referencesOf = ({ references, isInReplyTo }) =>
  isInReplyTo ? references.slice(0, 1) : references

/**
 * @param {Message} message
 * @returns {Buffer}
 */
function textOf(message) {
  const { id, references, isInReplyTo, prefix, base, suffix, day } = message
  const field = isInReplyTo ? 'In-Reply-To: A letter of yesterday,' : 'References:'
  const lines = [
    ...(id === null ? [] : [`Message-ID: ${id}`]),
    ...(references.length === 0 ? [] : [`${field} ${references.join(' ')}`]),
    `Subject: ${prefix}${base}${suffix}`,
    `Date: ${day} Jan 2022 10:00:00 +0000`
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\nbody\r\n`)
}

/**
 * @param {Message} message
 * @param {number} index
 * @returns {import('../../helpers/thread-model.js').Mail}
 */
function mailOf(message, index) {
  const { id, prefix, base, suffix, day } = message
  // A blob goes only where something is left behind it (RFC 5256 §2.1, step 4).
  const isBlobAlone = base === '' && prefix === 'Re: [list] '
  return {
    number: index + 1,
    id,
    references: referencesOf(message),
    base: isBlobAlone ? '[LIST]' : base.toUpperCase(),
    isReply: /re|fwd/i.test(prefix) || suffix !== '',
    sent: Date.UTC(2022, 0, day, 10) / 1000
  }
}

test('threads of any messages are those of the RFC, of all of them and of some', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(MESSAGE, { minLength: 1, maxLength: 16 }), async (messages) => {
      const mailbox = `box${++count}`
      await client.command(`CREATE ${mailbox}`)
      for (const message of messages)
        await client.command(
          `APPEND ${mailbox} (${message.isFlagged ? '\\Flagged' : ''})`,
          textOf(message)
        )
      await client.command(`SELECT ${mailbox}`)
      const all = messages.map(mailOf)
      const flagged = all.filter((_, index) => messages[index]?.isFlagged)
      for (const [key, mails] of /** @type {const} */ ([
        ['ALL', all],
        ['FLAGGED', flagged]
      ]))
        for (const [algorithm, expected] of Object.entries({
          REFERENCES: threadReferences(mails),
          ORDEREDSUBJECT: threadOrderedSubject(mails)
        })) {
          const answer = await client.command(`THREAD ${algorithm} UTF-8 ${key}`)
          assert.equal(/^\* THREAD ?(.*)\r$/m.exec(answer)?.[1], expected, `${algorithm} ${key}`)
        }
    }),
    { numRuns: 60 }
  )
})
