/**
 * Gives a mailbox that was brought from elsewhere in AES-256-CBC, which does not authenticate its pages, the cipher of the
 * configuration.
 */
import { statSync } from 'node:fs'
import { mailFile } from '../../database/database-files.js'
import { runFileJob } from '../../store/file-work.js'
import { whatIsMissing } from '../resources.js'

/** @type {import('../alone.js').AloneJob} */
export const convertCipher = {
  name: 'cipher',
  intervalMs: () => 0,
  wants: ({ cipher }) => (cipher === 'aes256cbc' ? 'AES-256-CBC' : null),
  async run({ services, account, key, resources, signal }) {
    const { directory, config } = services
    const { folder } = account
    const bytes = fileBytes(folder)
    const before = { fileBytes: bytes }
    // The ciphers differ in what they keep on each page, so SQLite makes the file anew in memory, and a copy is kept.
    const note = await whatIsMissing(resources, {
      folder,
      memoryBytes: bytes,
      diskBytes: 2 * bytes
    })
    if (note !== null) return { result: 'skipped', note, before, after: before }
    const nextCipher = config.storage.cipher
    await runFileJob(
      { kind: 'convert', folder, cipher: null, nextCipher, timeoutMs: 0 },
      { key, signal }
    )
    await directory.recordCipher(account.id, { cipher: nextCipher, folder })
    return { result: 'done', before, after: { fileBytes: fileBytes(folder) } }
  }
}

/**
 * @param {string} folder - the account's
 * @returns {number}
 */
const fileBytes = (folder) => statSync(mailFile(folder), { throwIfNoEntry: false })?.size ?? 0
