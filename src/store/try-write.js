/**
 * Writes what was made of contents and can be made again. Mail can be read from a full disk, or while somebody else writes:
 * that there is no room for this is no reason to refuse it to whoever asked.
 */
import { MailError } from '../errors.js'

/**
 * @param {() => Promise<unknown>} write
 * @throws what is no matter of room or time
 */
export async function tryWrite(write) {
  try {
    await write()
  } catch (error) {
    if (!(error instanceof MailError) || !error.temporary) throw error
  }
}
