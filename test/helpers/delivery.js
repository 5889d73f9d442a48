/**
 * Accounts that can receive mail, and a look into their spools.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { openDirectory } from '../../src/accounts/directory.js'
import { Opener, generateSealIdentity, identityFromSecret } from '../../src/crypto/age.js'
import { SpoolPlaintextReader } from '../../src/delivery/spool-format.js'
import { listSpool } from '../../src/delivery/spool.js'
import { systemClock } from '../../src/support/clock.js'
import { WireClient } from './wire-client.js'

export const silentLogger = pino({ level: 'silent' })

/** The part of the configuration that delivery reads, with limits that a test can reach. */
export const DELIVERY_CONFIG = Object.freeze({
  lmtp: {
    maxRecipients: 100,
    maxConnections: 20,
    timeoutMs: 60_000,
    overQuota: /** @type {'temporary' | 'permanent'} */ ('temporary')
  },
  messages: { maxBytes: 1024 * 1024 },
  shutdown: { graceMs: 10_000 }
})

/**
 * @param {string} dataFolder
 * @returns {import('../../src/accounts/directory-port.js').DirectoryPort}
 */
export function openTestDirectory(dataFolder) {
  return openDirectory({
    path: join(dataFolder, 'directory.db'),
    defaultDomain: 'example.org',
    clock: systemClock,
    logger: silentLogger
  })
}

/**
 * An account without credentials: delivery knows of none.
 *
 * @param {import('../../src/accounts/directory-port.js').DirectoryPort} directory
 * @param {string} dataFolder
 * @param {string} address
 * @param {{ quotaBytes?: number, quotaMessages?: number }} [quota]
 */
export async function addAccount(
  directory,
  dataFolder,
  address,
  { quotaBytes = 0, quotaMessages = 0 } = {}
) {
  const id = randomUUID()
  const domain = address.slice(address.indexOf('@') + 1)
  const folder = join(dataFolder, 'mail', domain, id)
  const { secret, recipient, publicKey } = generateSealIdentity()
  mkdirSync(folder, { recursive: true })
  const account = await directory.createAccount({
    id,
    address,
    domain,
    folder,
    cipher: 'chacha20',
    quotaBytes,
    quotaMessages,
    keys: {
      keyEpoch: 1,
      sealRecipient: recipient,
      sealPublicKey: publicKey,
      credentials: [],
      sealIdentities: []
    }
  })
  return { account, identity: identityFromSecret(secret), spoolFolder: join(folder, 'spool') }
}

/**
 * @param {string} path - of a sealed file
 * @param {import('../../src/crypto/age.js').SealIdentity} identity
 * @returns {{ envelope: import('../../src/delivery/spool-format.js').SpoolEnvelope, message: Buffer }}
 */
export function openSpoolFile(path, identity) {
  const opener = new Opener([identity])
  const reader = new SpoolPlaintextReader()
  const plaintext = [...opener.push(readFileSync(path)), ...opener.end()]
  const message = Buffer.concat(plaintext.flatMap((piece) => reader.push(piece)))
  return { envelope: reader.end(), message }
}

/**
 * @param {string} spoolFolder
 * @param {import('../../src/crypto/age.js').SealIdentity} identity
 * @returns {Promise<ReturnType<typeof openSpoolFile>[]>} the oldest first
 */
export async function openSpool(spoolFolder, identity) {
  const files = await listSpool(spoolFolder)
  return files.map(({ name }) => openSpoolFile(join(spoolFolder, name), identity))
}

/**
 * @param {Buffer} delivered
 * @returns {{ headers: string, body: Buffer }} the fields that delivery put before a message, and the message
 */
export function splitTrace(delivered) {
  const end = /^Return-Path: .*\r\nDelivered-To: .*\r\nReceived: .*\r\n(?:\t.*\r\n)*/.exec(
    delivered.toString('latin1')
  )
  const length = end?.[0].length ?? 0
  return { headers: delivered.toString('utf8', 0, length), body: delivered.subarray(length) }
}

/**
 * @param {string} folder
 * @returns {string[]} every file in it, at any depth
 */
export function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

/**
 * @param {string | Buffer} message - with CRLF line ends
 * @returns {Buffer} as it goes over the wire after DATA: dots stuffed, with its end (RFC 5321 §4.5.2)
 */
export function stuffed(message) {
  const text = Buffer.from(message).toString('latin1').replace(/^\./gm, '..')
  return Buffer.from(`${text}${text.endsWith('\r\n') || text === '' ? '' : '\r\n'}.\r\n`, 'latin1')
}

/** An LMTP client that says one thing at a time. */
export class LmtpClient {
  /** @param {WireClient} wire */
  constructor(wire) {
    this.wire = wire
  }

  /**
   * @param {number} port
   * @returns {Promise<LmtpClient>} after LHLO
   */
  static async connect(port) {
    const client = new LmtpClient(await WireClient.connect(port))
    await client.say('LHLO mta.example')
    return client
  }

  /**
   * @param {string} line
   * @returns {Promise<string>} the reply, all of its lines
   */
  async say(line) {
    this.wire.send(`${line}\r\n`)
    return this.reply()
  }

  /** @returns {Promise<string>} */
  async reply() {
    return (await this.wire.until(/^(\d{3}-.*\r\n)*\d{3} .*\r\n/)).trimEnd()
  }

  /**
   * @param {object} mail
   * @param {string} [mail.from]
   * @param {string[]} mail.to
   * @param {string | Buffer} mail.message
   * @returns {Promise<string[]>} the reply for each recipient that was accepted
   */
  async deliver({ from = 'sender@example.net', to, message }) {
    await this.say(`MAIL FROM:<${from}>`)
    let accepted = 0
    for (const address of to) {
      if ((await this.say(`RCPT TO:<${address}>`)).startsWith('250')) accepted += 1
    }
    const go = await this.say('DATA')
    if (!go.startsWith('354')) return [go]
    this.wire.send(stuffed(message))
    const replies = []
    for (let i = 0; i < accepted; i++) replies.push(await this.reply())
    return replies
  }

  /** Ends the session. */
  async quit() {
    await this.say('QUIT')
    this.wire.destroy()
  }
}
