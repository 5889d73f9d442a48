/**
 * How long does a login take, alone and when everybody comes at once?
 */
import { now, timedAsync } from '../lib/question.js'
import { connectTo, imapContenders, imapContext, serverOf } from './session.js'

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'login',
  title: 'LOGIN',
  notes:
    'Letterlock derives the key of the mailbox from the password (argon2id, 64 MiB), an app password needs none; while a mailbox is open, the same password again is checked by a keyed hash. Dovecot compares plain text here. Storm: each user connects and logs in at the same moment. Checked: every login is OK.',
  warmUp: 'the server was started a moment before; one login of u1 before the clock starts',
  lines: [
    { id: 'fresh', label: 'password, a user who is not there yet', unit: 'ms', better: 'lower' },
    { id: 'again', label: 'password, mailbox open already', unit: 'ms', better: 'lower' },
    { id: 'app', label: 'app password', unit: 'ms', better: 'lower' },
    {
      id: 'storm',
      label: 'storm of 500 users, or as many as there are: connect and LOGIN',
      unit: 'ms',
      better: 'lower'
    },
    { id: 'stormAll', label: 'storm, until the last one is in', unit: 'ms', better: 'lower' }
  ],
  needsFreshStart: true,
  contenders: imapContenders,
  rounds: ({ rounds }) => Math.min(rounds, 3),
  async measure(run) {
    const { isQuick } = run.options
    const { users } = imapContext(run.context)
    const login = async (/** @type {string} */ user, /** @type {string} */ password) => {
      const client = await connectTo(run)
      const { ms } = await client.login(user, password)
      client.close()
      return ms
    }
    const keeper = await connectTo(run)
    await keeper.login('u1', 'pass')
    const count = isQuick ? 3 : Math.min(40, users >> 2)
    const fresh = []
    const again = []
    const app = []
    const { appPassword } = serverOf(run)
    for (let index = 0; index < count; index++) {
      const user = `u${users - index}`
      fresh.push(await login(user, 'pass'))
      again.push(await login('u1', 'pass'))
      app.push(await login('u1', appPassword))
    }
    /** @type {number[]} */
    const storm = []
    // The users that have not logged in yet, and u1.
    const stormUsers = users - count
    const start = now()
    await Promise.all(
      Array.from({ length: stormUsers }, async (_, index) => {
        storm.push(
          await timedAsync(async () => {
            const client = await connectTo(run)
            await client.login(`u${index + 1}`, 'pass')
            client.close()
          })
        )
      })
    )
    const stormAll = [now() - start]
    keeper.close()
    return { samples: { fresh, again, app, storm, stormAll } }
  }
}
