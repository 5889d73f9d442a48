/**
 * `letterlock backup restore --folder` and `--message-id`: mail out of a backup into the present mailbox.
 */
import { join } from 'node:path'
import { requireEntry } from '../backup/choose.js'
import { openPastAccount } from '../backup/past-credential.js'
import { restoreMessages } from '../backup/restore-messages.js'
import { MailError } from '../errors.js'
import { CliError } from './cli-error.js'
import { formatTime, withSecret } from './with-accounts.js'
import { NOTHING_DONE, SOME_FAILED, wordsOf } from './with-backups.js'
import { counted } from '../support/format.js'

/**
 * @typedef {import('./backup-restore.js').AccountRestore} AccountRestore
 * @typedef {import('../accounts/directory-port.js').Account} Account
 */

/**
 * @param {AccountRestore} restore
 * @param {Account} account
 */
export async function takeMessages(restore, account) {
  const { parts, services, input, generation, options, onRead } = restore
  const { target, clock, logger, print } = parts
  const entry = requireEntry(generation, account.id)
  if (entry.keyEpoch !== account.keyEpoch)
    throw new CliError(
      'The account has got another key since: restore it under another name (--as)',
      { exitCode: NOTHING_DONE }
    )
  // Loaded only here, with all that a mailbox needs: most commands about backups open none.
  const { openStore } = await import('../accounts/open-store.js')
  const { withOpenCopy } = await import('../backup/open-copy.js')
  const { masterKey: unlocked } = await withSecret(
    await input.read(`Password of ${account.address}`),
    (secret) => openPastAccount({ services, account, entry, keys: null, secret })
  )
  using masterKey = unlocked
  const into = `Restored ${formatTime(entry.copiedAtMs).slice(0, 10)}`
  const take = async (/** @type {import('../store/account-store.js').AccountStore} */ from) => {
    const to = await openStore({
      services,
      account,
      masterKey,
      onAlert: (alert) => logger.error(alert, 'mailbox alert')
    })
    let done = 0
    const onProgress = (/** @type {number} */ restored) => (done = restored)
    try {
      const wanted = { folder: options.folder ?? null, messageId: options.messageId ?? null }
      return await restoreMessages({ from, to, wanted, into, onProgress })
    } catch (cause) {
      if (done === 0 || !(cause instanceof MailError)) throw cause
      throw new CliError(
        `The restore ended early, ${counted(done, 'message is', 'messages are')} in ${into}: ${wordsOf(cause)}`,
        { exitCode: SOME_FAILED, cause }
      )
    } finally {
      await to.close()
    }
  }
  const taken = await restore.alone(async (scratchFolder) => {
    const now = requireEntry(await restore.read(), account.id)
    const folder = join(scratchFolder, 'mailbox')
    return await withOpenCopy({ target, entry: now, masterKey, folder, clock, onRead }, take)
  })
  if (taken === null) throw new CliError(`No such folder in ${generation.name}`)
  const { restored, folders } = taken
  const none = options.messageId === undefined ? 'The folder is empty' : 'No such message'
  if (restored === 0) throw new CliError(`${none} in ${generation.name}`)
  print(`${counted(restored, 'message')} restored into ${folders.join(', ')}`)
}
