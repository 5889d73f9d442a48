/**
 * The mailbox of the first start that succeeds: whoever tries the server finds something to log in to, and a letter in it.
 */
import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { openStore } from './open-store.js'
import { provisionAccount } from './provision.js'

/** @typedef {import('./services.js').AccountServices} AccountServices */

/**
 * @typedef {object} FirstAccount
 * @property {string} address
 * @property {string} password - to be shown once, and stored nowhere
 * @property {string} recoveryCode - likewise
 */

const USER = 'me'

/** Without the letters and digits that people mistake for each other: 31 of them, 4.95 bits each. */
const PASSWORD_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
/** Four groups of four: 79 bits, more than anybody guesses through argon2id, short enough to type. */
const PASSWORD_GROUPS = 4
const GROUP_LENGTH = 4

/** @returns {string} for instance `k3pd-9wxm-a7tq-hf2z` */
function makePassword() {
  const letter = () => PASSWORD_ALPHABET[randomInt(PASSWORD_ALPHABET.length)]
  const group = () => Array.from({ length: GROUP_LENGTH }, letter).join('')
  return Array.from({ length: PASSWORD_GROUPS }, group).join('-')
}

/**
 * @param {string} address
 * @param {Date} date
 * @returns {Buffer} a whole message, CRLF line ends
 */
function welcomeMessage(address, date) {
  return Buffer.from(
    [
      'From: Letterlock <letterlock@localhost>',
      `To: ${address}`,
      'Subject: Welcome to your locked mailbox',
      `Date: ${date.toUTCString().replace('GMT', '+0000')}`,
      `Message-ID: <welcome.${date.getTime()}@${hostname()}>`,
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'This message lies in an encrypted file that only your password opens.',
      '',
      'What you can do next:',
      '',
      '- Keep the recovery code off this machine. It opens your mail if you lose the password.',
      '- Bring your mail along:      npx letterlock import FOLDER-OR-MBOX',
      `- Change your password:       npx letterlock account passwd ${address}`,
      '- Make one for your phone:    npx letterlock app-password create --help',
      '- Add other people:           npx letterlock account create anna@example.org',
      '- Have mail delivered here:   point your mail server at the LMTP port',
      '',
      'What is protected, and what is not, stands in docs/security.md.',
      ''
    ].join('\r\n')
  )
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @returns {Promise<FirstAccount>}
 * @throws {import('../errors.js').MailError} as provisionAccount does
 */
export async function makeFirstAccount({ services }) {
  const password = makePassword()
  const { account, recoveryCode, masterKey } = await provisionAccount({
    services,
    address: USER,
    password: Buffer.from(password)
  })
  try {
    await welcome({ services, account, masterKey })
  } catch (err) {
    // Only logged: the mailbox exists, and its password is told now or never.
    services.logger.error({ err }, 'the first mailbox has no letter in it')
  } finally {
    masterKey.dispose()
  }
  return { address: account.address, password, recoveryCode }
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {import('./directory-port.js').Account} input.account
 * @param {import('../crypto/secret-buffer.js').SecretBuffer} input.masterKey
 */
async function welcome({ services, account, masterKey }) {
  const { clock, logger } = services
  const onAlert = (/** @type {object} */ alert) => logger.error(alert, 'the first mailbox failed')
  const store = await openStore({ services, account, masterKey, onAlert })
  try {
    const message = welcomeMessage(account.address, new Date(clock.nowMs()))
    const writer = await store.stageContent({ sizeHint: message.length })
    await writer.write(message)
    const content = await writer.finish()
    await store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }])
  } finally {
    await store.close()
  }
}
