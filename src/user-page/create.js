/**
 * From the parts of a running server to its page for users. Sessions are those of all workers, whichever of them answers.
 */
import { Downloads } from './downloads.js'
import { HttpsListener } from './listener.js'
import { PageSessions, SharedPageSessions } from './page-sessions.js'
import { createPageServer } from './server.js'

/** @import { SessionFacts } from '../imap/session/session-facts.js' */
/** @import { TlsSettings } from '../imap/session/tls-context.js' */
/** @import { SessionQuestion } from './page-sessions.js' */

/** The text of BYE for a session that the owner of the mailbox ends. */
const BYE = 'The owner of the mailbox has ended this session'

/**
 * @typedef {object} UserPage
 * @property {HttpsListener['listen']} listen
 * @property {(tls: TlsSettings) => void} replaceCertificate - for new handshakes
 * @property {Record<string, (argument: any) => unknown>} answers - what this worker tells the others, by kind
 * @property {() => Promise<void>} removeLeftovers - of downloads whose process was killed; also done by `listen`
 * @property {(options: { graceMs: number }) => Promise<void>} close
 */

/**
 * @param {object} options
 * @param {import('../accounts/services.js').AccountServices} options.services
 * @param {Pick<import('../imap/session/listener.js').ImapServer, 'listSessions' | 'endSession'>} options.imap
 * @param {Pick<import('../accounts/open-accounts.js').OpenAccounts, 'acquire'>} options.openAccounts
 * @param {TlsSettings} options.tls
 * @param {((kind: string, argument?: unknown) => Promise<unknown[]>) | null} [options.askAllWorkers] - gets one of `answers`
 *   from each worker; null where this is the only one
 * @param {import('../crypto/kdf.js').Argon2Params} [options.downloadArgon2] - of downloaded files; default: the usual ones
 * @returns {Promise<UserPage>}
 */
export async function createUserPage({
  services,
  imap,
  openAccounts,
  tls,
  askAllWorkers = null,
  downloadArgon2
}) {
  const { config, clock } = services
  const { idleTimeoutMs, maxSessionMs } = config.userPage
  const own = new PageSessions({ clock, idleMs: idleTimeoutMs, maxMs: maxSessionMs })
  const sessionsOf = (/** @type {string} */ wanted) =>
    imap.listSessions().filter(({ accountId }) => accountId === wanted)
  /** @type {UserPage['answers']} */
  const answers = {
    pageSession: (/** @type {SessionQuestion} */ question) => own.answer(question),
    accountSessions: sessionsOf,
    endAccountSession: (/** @type {{ accountId: string, sessionId: string }} */ which) =>
      sessionsOf(which.accountId).some(({ id }) => id === which.sessionId) &&
      imap.endSession(which.sessionId, BYE)
  }
  const ask = askAllWorkers ?? (async (kind, argument) => [await answers[kind]?.(argument)])
  const downloads = new Downloads({
    services,
    openAccounts,
    ...(downloadArgon2 && { argon2: downloadArgon2 })
  })
  const listener = new HttpsListener(tls)
  const app = await createPageServer(
    {
      services,
      sessions: new SharedPageSessions(own, (question) => ask('pageSession', question)),
      imapSessions: {
        list: async (accountId) =>
          /** @type {SessionFacts[][]} */ (await ask('accountSessions', accountId))
            .flat()
            .sort((left, right) => left.startedAtMs - right.startedAtMs),
        end: async (which) => (await ask('endAccountSession', which)).includes(true)
      },
      downloads,
      addressOf: (request) => listener.addressOf(request)
    },
    (handler) => listener.makeServer(handler)
  )
  return {
    answers,
    listen: async (where) => {
      await downloads.removeLeftovers()
      return await listener.listen(where)
    },
    removeLeftovers: () => downloads.removeLeftovers(),
    replaceCertificate: (changed) => listener.replaceCertificate(changed),
    close: async ({ graceMs }) => {
      await listener.close({ graceMs })
      await app.close()
    }
  }
}
