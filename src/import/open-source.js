/**
 * Opens the file or folder that the user named, by its content: the name's ending decides only between a message and an mbox of
 * one message.
 */
import { stat } from 'node:fs/promises'
import { MailError } from '../errors.js'
import { markEnd } from '../mime/header.js'
import { readHead } from './byte-source.js'
import { HEADER_FIELD } from './line-ends.js'
import { isEmlName, openEmlFile } from './read-eml.js'
import { emlxItem, isEmlxName } from './read-emlx.js'
import { openFolder } from './read-folder.js'
import { isMaildir, openMaildir } from './read-maildir.js'
import { openMbox } from './read-mbox.js'
import { isTarHead, openTar } from './read-tar.js'

/** @typedef {import('./import-item.js').ImportSource} ImportSource */
/** @typedef {import('./mbox-splitter.js').MboxQuoting} MboxQuoting */

/** So many bytes tell the format: a tar has its first block in them, and a message or an mbox begins its first line. */
const HEAD_BYTES = 1024

/**
 * @param {string} path - a folder with messages or mboxes in it, a Maildir, an mbox, a tar of .eml files (both packed or not), one
 *   .eml or .emlx
 * @param {{ mboxQuoting?: MboxQuoting }} [options]
 * @returns {Promise<ImportSource>}
 * @throws {MailError} FORMAT_UNKNOWN; and what the file system throws
 */
export async function openSource(path, { mboxQuoting = 'mboxrd' } = {}) {
  if ((await stat(path)).isDirectory()) {
    if (await isMaildir(path)) return await openMaildir(path)
    return await openFolder(path, { quoting: mboxQuoting })
  }
  if (isEmlxName(path)) return openEmlFile(path, emlxItem)
  const head = await readHead(path, HEAD_BYTES)
  if (isTarHead(head)) return await openTar(path)
  if (isEmlName(path)) return openEmlFile(path)
  const text = head.toString('latin1', markEnd(head)).trimStart()
  if (text === '' || text.startsWith('From ')) return await openMbox(path, { quoting: mboxQuoting })
  if (HEADER_FIELD.test(text)) return openEmlFile(path)
  throw new MailError('FORMAT_UNKNOWN')
}
