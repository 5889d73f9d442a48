/**
 * Packs units into objects of a good size for object storage, and stores them while the next is being filled.
 */
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeAll } from '../support/write-all.js'
import { newPackName, packObject } from './repository.js'

/** A pack is stored once it has grown to this, bytes: few requests, and no long wait where one is repeated. */
const PACK_BYTES = 32 * 1024 * 1024

/** At most so many packs wait to be stored while reading goes on: then reading waits, too. */
const MAX_WAITING = 2

/**
 * @typedef {object} OpenPack
 * @property {string} name
 * @property {string} path
 * @property {import('node:fs/promises').FileHandle} handle
 * @property {number} size
 */

/** Writes packs one after the other. */
export class PackWriter {
  #target
  #folder
  /** @type {OpenPack | null} */
  #pack = null
  /** @type {Set<Promise<void>>} */
  #storing = new Set()
  /** @type {unknown} */
  #failure = null
  /** Bytes that have gone into packs. */
  bytes = 0

  /**
   * @param {object} options
   * @param {import('./targets/target.js').BackupTarget} options.target
   * @param {string} options.scratchFolder - for packs that are being filled
   */
  constructor({ target, scratchFolder }) {
    this.#target = target
    this.#folder = scratchFolder
  }

  /**
   * @param {Buffer} bytes - may be used again when this resolves
   * @returns {Promise<{ pack: string, offset: number }>} where they are, once `flush` has resolved
   */
  async add(bytes) {
    const pack = (this.#pack ??= await this.#start())
    const place = { pack: pack.name, offset: pack.size }
    await writeAll(pack.handle, bytes, pack.size)
    pack.size += bytes.length
    this.bytes += bytes.length
    if (pack.size >= PACK_BYTES) await this.#finish()
    return place
  }

  /**
   * @returns {Promise<void>} when everything that was added is stored
   * @throws what storing failed with
   */
  async flush() {
    await this.#finish()
    await Promise.all(this.#storing)
    if (this.#failure) throw this.#failure
  }

  /** Lets go of what was not stored. */
  async abort() {
    await Promise.all(this.#storing)
    const pack = this.#pack
    this.#pack = null
    await pack?.handle.close()
    if (pack) await rm(pack.path, { force: true })
  }

  /** @returns {Promise<OpenPack>} */
  async #start() {
    const name = newPackName()
    const path = join(this.#folder, `${name}.pack`)
    return { name, path, handle: await open(path, 'wx', 0o600), size: 0 }
  }

  async #finish() {
    if (this.#failure) throw this.#failure
    const pack = this.#pack
    if (!pack) return
    this.#pack = null
    try {
      await pack.handle.close()
    } catch (error) {
      // Noted for later calls: other accounts have units in this pack, too.
      this.#failure = error
      throw error
    }
    while (this.#storing.size >= MAX_WAITING) await Promise.race(this.#storing)
    const stored = this.#target
      .putFile(packObject(pack.name), pack.path)
      .then(() => rm(pack.path))
      .catch((error) => {
        this.#failure ??= error
      })
      .finally(() => this.#storing.delete(stored))
    this.#storing.add(stored)
  }
}
