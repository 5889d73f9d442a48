/**
 * How soon does a client in IDLE learn of a message that another client has put in?
 */
import { appendArguments } from '../lib/imap-client.js'
import { MailGenerator } from '../lib/mail.js'
import { now, require } from '../lib/question.js'
import { imapContenders, openSession } from './session.js'

const USER = 'u3'
/** The generator's messages from this one on are appended. */
const FIRST_MAIL = 5_000_000

/** A push that came before the OK counts as so many ms: a ratio needs something to divide by. */
const AT_ONCE_MS = 0.01

/**
 * A round ends after so many ms: a server that gets no notice of changes may look for new messages only every half minute
 * (Dovecot's mailbox_idle_check_interval).
 */
const ENOUGH_MS = 2 * 60_000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'idle-push',
  title: 'IDLE: from APPEND’s OK to EXISTS',
  notes:
    'One connection is in IDLE on INBOX, another one appends; the time from the tagged OK there to the untagged EXISTS here, both seen by one process. EXISTS before the OK counts as 0.01 ms. 30 messages a round, or as many as two minutes have room for. Checked: the number in EXISTS goes up by one each time.',
  warmUp: 'two messages before the clock starts',
  lines: [
    { id: 'push', label: 'OK to EXISTS', unit: 'ms', better: 'lower' },
    { id: 'whole', label: 'from the first byte of APPEND to EXISTS', unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  async measure(run) {
    const { isQuick, seed } = run.options
    const generator = new MailGenerator(seed)
    const idler = await openSession(run, { user: USER, mailbox: null })
    const { bytes } = await idler.run('SELECT INBOX')
    let exists = Number(/\* (\d+) EXISTS/.exec(bytes.toString('latin1'))?.[1])
    idler.write('i IDLE\r\n')
    await idler.waitFor((tail) => tail.startsWith('+'))
    idler.take()
    const sender = await openSession(run, { user: USER, mailbox: null })
    /** @type {{ push: number[], whole: number[] }} */
    const samples = { push: [], whole: [] }
    const began = now()
    for (let index = -2; index < (isQuick ? 3 : 30); index++) {
      if (index > 0 && now() - began > ENOUGH_MS) break
      const mail = generator.mailOf(FIRST_MAIL + index + 2)
      exists += 1
      let pushedAt = 0
      const pushed = idler
        .waitFor((tail) => tail.includes(`* ${exists} EXISTS\r\n`))
        .then(() => (pushedAt = now()))
      const start = now()
      await sender.run(['APPEND INBOX', ...appendArguments(mail)])
      const acknowledged = now()
      await pushed
      require(idler.take().includes(`* ${exists} EXISTS`), 'EXISTS goes up by one')
      if (index < 0) continue
      samples.push.push(Math.max(AT_ONCE_MS, pushedAt - acknowledged))
      samples.whole.push(pushedAt - start)
    }
    idler.close()
    sender.close()
    return { samples }
  }
}
