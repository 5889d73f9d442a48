/**
 * `letterlock serve`: runs the server until it is told to stop.
 */
import { isSupervised, isUnderPm2, workerSlot } from '../../../config/load.js'
import { enterDataFolder } from '../data-folder.js'
import { nightlyCommand } from '../nightly-command.js'

/**
 * @typedef {object} ServeOptions
 * @property {string} [data]
 * @property {string} [config]
 * @property {string} [defaultDomain]
 * @property {string} [imap]
 * @property {string} [imaps]
 * @property {string} [lmtp]
 * @property {string} [admin]
 * @property {string} [userPage]
 * @property {boolean} [allowPlaintextLoopback]
 *
 * @typedef {import('../../compose.js').RunningServer} RunningServer
 */

/**
 * @param {ServeOptions} options
 * @returns {Record<string, unknown>} settings by dotted name
 */
function settingsOf({ imap, imaps, lmtp, admin, userPage, allowPlaintextLoopback }) {
  return {
    ...(imap !== undefined && { 'imap.listen': imap }),
    ...(imaps !== undefined && { 'imaps.listen': imaps }),
    ...(lmtp !== undefined && { 'lmtp.listen': lmtp }),
    ...(admin !== undefined && { 'admin.listen': admin }),
    ...(userPage !== undefined && { 'userPage.listen': userPage }),
    ...(allowPlaintextLoopback && { 'imap.allowPlaintextLoopback': true })
  }
}

/**
 * What a person needs to point a mail program here. The password is shown this once and stored nowhere,
 * which is why it goes straight to the terminal and never through the logger.
 *
 * @param {NonNullable<RunningServer['firstAccount']>} account
 * @param {RunningServer} server
 * @returns {string}
 */
function howToConnect({ address, password, recoveryCode }, { listeners, certificate }) {
  const imaps = listeners.find(({ name }) => name === 'imaps')
  const imap = listeners.find(({ name }) => name === 'imap')
  return [
    '',
    'Your first mailbox is ready. Its password and recovery code are shown this once:',
    '',
    `  user           ${address}`,
    `  password       ${password}`,
    `  recovery code  ${recoveryCode}`,
    ...(imaps ? [`  IMAP, TLS      ${imaps.host}, port ${imaps.port}`] : []),
    ...(imap ? [`  IMAP, STARTTLS ${imap.host}, port ${imap.port}`] : []),
    ...(certificate.isSelfSigned
      ? [
          '',
          'Your mail program will ask about the self-signed certificate; compare the fingerprint below.'
        ]
      : []),
    ''
  ].join('\n')
}

/**
 * @param {RunningServer} server
 * @returns {string} one line for each listener, then the fingerprint
 */
function whereItListens({ listeners, certificate }) {
  const lines = listeners.map(
    ({ name, host, port, note }) =>
      `${name.padEnd(6)} ${host.includes(':') ? `[${host}]` : host}:${port} ${note}`
  )
  return [...lines, `certificate SHA-256 ${certificate.fingerprint}`].join('\n')
}

/**
 * Signals within so long after the first one repeat it, ms: systemd and others send theirs to every process of a service, and
 * whatever has started this process (src/main.js under an older Node, npm, timeout) passes its own on.
 */
const SAME_WISH_MS = 500

/**
 * Resolves at the first SIGINT or SIGTERM; another one, after SAME_WISH_MS, ends the process at once, as a person who
 * presses Ctrl-C twice expects.
 *
 * @returns {Promise<void>}
 */
function untilToldToStop() {
  return new Promise((resolve) => {
    let firstMs = Infinity
    const stop = () => {
      const nowMs = performance.now()
      if (nowMs - firstMs >= SAME_WISH_MS) process.kill(process.pid, 'SIGKILL')
      firstMs = Math.min(firstMs, nowMs)
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}

/**
 * @param {import('commander').Command} program
 * @param {import('../index.js').CliContext} context
 */
export function register(program, context) {
  program
    .command('serve')
    .description('run the server: IMAP, LMTP and the admin interface')
    .option('--imap <host:port>', 'IMAP with STARTTLS; port 0 picks a free one, off turns it off')
    .option('--imaps <host:port>', 'IMAP with TLS')
    .option('--lmtp <host:port>', 'delivery by the mail transfer agent')
    .option('--admin <host:port>', 'health, admin interface and dashboard over HTTP')
    .option('--user-page <host:port>', 'a page over HTTPS where users look after their passwords')
    .option('--allow-plaintext-loopback', 'permit LOGIN without TLS from 127.0.0.0/8 and ::1')
    .addHelpText(
      'after',
      '\nExample:\n  letterlock serve --data /var/lib/letterlock --imaps 0.0.0.0:1993 --default-domain example.org'
    )
    .action(async (/** @type {ServeOptions} */ options) => {
      const config = context.loadConfig(options, settingsOf(options))
      enterDataFolder(config.data, { mayBeNew: true })
      const isWatched = !isSupervised()
      const slot = workerSlot()
      const stopped = untilToldToStop()
      // A start reads the certificates anyway.
      let reload = async () => {}
      // On a terminal SIGHUP means that the terminal was closed, and ends the program as ever.
      if (!process.stdout.isTTY) process.on('SIGHUP', () => reload())
      const server = await context.startServer({
        config,
        makeFirstAccount: isWatched && slot === null,
        // Under PM2, `backup schedule` is an app of its own.
        nightlyCommand: isUnderPm2() || slot !== null ? null : nightlyCommand(options, config.data),
        slot
      })
      const { stdout, version } = context
      stdout.write(`Letterlock ${version}, data in ${config.data}\n`)
      if (server.firstAccount) stdout.write(`${howToConnect(server.firstAccount, server)}\n`)
      else if (!server.hasAccounts) {
        stdout.write('No account yet. Make one: letterlock account create you@example.org\n')
      }
      stdout.write(`${whereItListens(server)}\nready\n`)
      process.send?.('ready')
      reload = () => server.reloadCertificates()

      await stopped
      stdout.write('stopping\n')
      await server.close()
      stdout.write('stopped\n')
    })
}
