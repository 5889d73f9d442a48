/**
 * An LMTP server in the process of the test, with one account.
 */
import { createLmtpServer } from '../../src/delivery/lmtp.js'
import { loadCertificate } from '../../src/support/certificate.js'
import { systemClock } from '../../src/support/clock.js'
import { DELIVERY_CONFIG, addAccount, openTestDirectory, silentLogger } from './delivery.js'
import { scratchFolder } from './process.js'

export const MESSAGE = 'From: bob@example.net\r\nSubject: hello\r\n\r\nThe body.\r\n'
export const ANN = 'ann@example.org'

/**
 * A server with one account, ann@example.org.
 *
 * @param {import('node:test').TestContext} t
 * @param {object} [options]
 * @param {string} [options.folder] - where everything lies; default: a folder of the test
 * @param {Partial<typeof DELIVERY_CONFIG.lmtp>} [options.lmtp]
 * @param {number} [options.maxBytes]
 * @param {{ quotaBytes?: number, quotaMessages?: number }} [options.quota]
 * @param {import('../../src/telemetry/logger.js').Logger} [options.logger]
 * @param {boolean} [options.hasTls]
 * @param {import('../../src/delivery/lmtp-service.js').LmtpTls} [options.tls]
 * @param {() => boolean} [options.admits]
 * @param {import('../../src/support/proxy-header.js').ProxyTrust} [options.proxy]
 * @param {(accountId: string) => void} [options.notify]
 * @param {(account: any) => any} [options.alter] - what the directory says of an account
 * @param {() => Promise<void>} [options.onceStored] - holds up the reply to a message that is on disk
 * @param {number} [options.graceMs] - that transfers have to end in
 */
export async function startLmtp(t, options = {}) {
  const { lmtp, maxBytes = DELIVERY_CONFIG.messages.maxBytes, quota, alter, onceStored } = options
  const folder = options.folder ?? scratchFolder(t, 'lmtp')
  const directory = openTestDirectory(folder)
  const ann = await addAccount(directory, folder, ANN, quota)
  /** @type {string[]} */
  const notified = []
  const server = createLmtpServer({
    config: {
      ...DELIVERY_CONFIG,
      lmtp: { ...DELIVERY_CONFIG.lmtp, ...lmtp },
      messages: { maxBytes },
      shutdown: { graceMs: options.graceMs ?? DELIVERY_CONFIG.shutdown.graceMs }
    },
    directory: {
      ...directory,
      ...(alter && {
        findByAddress: async (/** @type {string} */ address) =>
          alter(await directory.findByAddress(address))
      }),
      ...(onceStored && {
        findAccount: async (/** @type {string} */ id) => {
          await onceStored()
          return directory.findAccount(id)
        }
      })
    },
    clock: systemClock,
    logger: options.logger ?? silentLogger,
    tls: options.tls ?? (options.hasTls ? await makeCertificate(t) : null),
    ...(options.admits && { admits: options.admits }),
    notify: options.notify ?? ((accountId) => notified.push(accountId)),
    serverName: 'mail.example.org'
  })
  const proxy = options.proxy ?? null
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, proxy })
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await server.close()
    await directory.close()
  }
  t.after(close)
  return {
    folder,
    directory,
    server,
    port,
    notified,
    close,
    ...ann,
    /**
     * @param {string} address
     * @param {{ quotaBytes?: number, quotaMessages?: number }} [limits]
     */
    add: (address, limits) => addAccount(directory, folder, address, limits)
  }
}

/** @param {import('node:test').TestContext} t */
export const makeCertificate = (t) =>
  loadCertificate({
    folder: scratchFolder(t, 'tls'),
    certificateFile: '',
    keyFile: '',
    clock: systemClock
  })
