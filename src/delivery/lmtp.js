/**
 * The LMTP listener (RFC 2033): the mail transfer agent's way in. A message is sealed to each recipient's
 * public key as it streams by, and a recipient's `250` goes out only when its spool file and its name are
 * on disk. Nothing here holds a key that opens mail, and nothing is stored in the clear.
 *
 * Protocol and limits are smtp-server's: PIPELINING, SIZE, 8BITMIME, SMTPUTF8, ENHANCEDSTATUSCODES, one
 * reply for each accepted RCPT, the end of data only at CRLF.CRLF. smtp-server pauses the socket while a piece
 * is being written. The bytes of a message are kept as they come, bare LF and bare CR too; of two dots that
 * begin a line (also after a bare LF), the first is taken for stuffing (RFC 5321 §4.5.2) and dropped.
 *
 * Logs have account ids, counts and codes, never an address.
 */

import { TLS_POLICY } from '../support/tls-policy.js'
import { isTurnSpent, nextTurn } from '../support/turns.js'
import { hasGone } from './gone-client.js'
import { LmtpListener } from './lmtp-listener.js'
import { LmtpRefusal, REFUSALS } from './lmtp-reply.js'
import { LmtpService } from './lmtp-service.js'
import { paced } from './paced.js'

/** @typedef {import('./lmtp-service.js').LmtpOptions} LmtpOptions */

/** Commands of smtp-server that a mail store has no use for. */
const DISABLED_COMMANDS = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'HELP']

/** The longest delay, in ms, that a timer of Node takes. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * @typedef {object} LmtpServer
 * @property {(where: { host: string, port: number, proxy?: import('../support/proxy-header.js').ProxyTrust | null }) => Promise<{ host: string, port: number }>} listen -
 *   port 0 takes a free one; with `proxy` every connection begins with a PROXY header
 * @property {(tls: import('./lmtp-service.js').LmtpTls) => void} replaceCertificate - for new handshakes
 * @property {() => Promise<void>} close - lets running transfers end, for `shutdown.graceMs` at most; a
 *   message that has come in full by then is still stored and answered
 */

/**
 * @param {LmtpOptions} options
 * @returns {LmtpServer}
 */
export function createLmtpServer(options) {
  const { config, logger, tls, admits = () => true } = options
  const service = new LmtpService(options)
  const listener = new LmtpListener({
    lmtp: true,
    name: service.serverName,
    banner: 'Letterlock',
    // smtp-server's own log lines have addresses; ours are written here.
    logger: false,
    size: service.maxMessageBytes,
    maxClients: config.lmtp.maxConnections,
    maxRecipients: service.maxRecipients,
    socketTimeout: config.lmtp.timeoutMs,
    // smtp-server's own shutdown would refuse messages that are being stored when this time is over.
    closeTimeout: MAX_TIMER_MS,
    disableReverseLookup: true,
    // A sender with two dots in a row, or one before the @, has been let in by the mail transfer agent already.
    lenientAddressParsing: true,
    authOptional: true,
    hideENHANCEDSTATUSCODES: false,
    disabledCommands: tls ? DISABLED_COMMANDS : [...DISABLED_COMMANDS, 'STARTTLS'],
    ...(tls && secureOptionsOf(tls)),
    onConnect: (_session, done) => {
      if (admits()) done()
      else done(new LmtpRefusal(REFUSALS.overloaded))
    },
    onMailFrom: (_address, session, done) => {
      service.begin(session)
      done()
    },
    onRcptTo: (address, session, done) => {
      // Thousands of RCPT may come in one piece, and refusing one awaits nothing.
      const turn = isTurnSpent() ? nextTurn() : Promise.resolve()
      turn.then(() => service.addRecipient(address, session)).then(() => done(), done)
    },
    onData: (message, session, done) => {
      const onStalled = () => {
        logger.info('a message came too slowly, and its connection is ended')
        listener.cut(session)
      }
      service
        .deliver(paced(message, { patienceMs: config.lmtp.timeoutMs, onStalled }), session)
        // The library's types know one text alone; it sends one reply for each element.
        .then((replies) => done(null, /** @type {any} */ (replies)), done)
        .finally(() => listener.endIdle())
    },
    onClose: (session) => {
      service.forget(session)
      listener.endIdle()
    }
  })
  let isBinding = false
  listener.on('error', (error) => {
    // An error that keeps the listener from listening comes here too, and is thrown to the caller of `listen`.
    if (isBinding) return
    if (hasGone(error)) logger.info({ err: error }, 'a delivery connection was broken off')
    else logger.warn({ err: error }, 'a delivery connection failed')
  })
  return {
    listen: async ({ host, port, proxy = null }) => {
      listener.proxy = proxy
      isBinding = true
      try {
        return await listen(listener, host, port)
      } finally {
        isBinding = false
      }
    },
    replaceCertificate: (changed) => listener.updateSecureContext(secureOptionsOf(changed)),
    close: () => listener.end(config.shutdown)
  }
}

/** @param {import('./lmtp-service.js').LmtpTls} tls */
const secureOptionsOf = ({ certificate, key, others = [] }) => ({
  ...TLS_POLICY,
  cert: certificate,
  key,
  sniOptions: new Map(
    others.flatMap(({ names, cert, key }) =>
      names.map((name) => /** @type {const} */ ([name, { ...TLS_POLICY, cert, key }]))
    )
  )
})

/**
 * @param {LmtpListener} listener
 * @param {string} host
 * @param {number} port
 * @returns {Promise<{ host: string, port: number }>}
 */
function listen(listener, host, port) {
  return new Promise((resolve, reject) => {
    const { server } = listener
    server.once('error', reject)
    listener.listen(port, host, () => {
      server.off('error', reject)
      const bound = server.address()
      if (bound === null || typeof bound === 'string') reject(new Error('not bound to a port'))
      else resolve({ host: bound.address, port: bound.port })
    })
  })
}
