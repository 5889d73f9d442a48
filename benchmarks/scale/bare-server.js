/**
 * The smallest server that answers FETCH of a body and APPEND at all, over the library, the cipher and the settings that
 * Letterlock has: `bare-server.js <folder>`. No MIME, no hash, no flags, no limits; what it is asked it must be asked in the
 * form that floor.js has. It shows what Node and SQLite leave to a mail server.
 */
import { closeSync, fdatasync, fstatSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { openEncryptedDatabase } from '../../src/database/open.js'

const [folder = '.'] = process.argv.slice(2)
const KEY = Buffer.alloc(32, 7)
const CACHE_BYTES = 8 * 1024 * 1024
const CHECKPOINT_BYTES = 4 * 1024 * 1024
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
const sync = promisify(fdatasync)

/** One user's file: three tables and no index. */
class BareStore {
  #db
  #insert
  #note
  #count
  #select
  /** @type {number | null} of the -wal */
  #descriptor = null
  #path

  /** @param {string} name - of the user */
  constructor(name) {
    this.#path = join(folder, `${name}.db`)
    const { db } = openEncryptedDatabase({
      ...{ path: this.#path, key: KEY, cipher: 'chacha20', isNew: true, cacheBytes: CACHE_BYTES }
    })
    db.exec(`CREATE TABLE chunks (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
      CREATE TABLE messages (id INTEGER PRIMARY KEY, modseq INTEGER, flags INTEGER, size INTEGER) STRICT;
      CREATE TABLE mailboxes (id INTEGER PRIMARY KEY, uid_next INTEGER, message_count INTEGER) STRICT;
      INSERT INTO mailboxes VALUES (1, 1, 0)`)
    this.#db = db
    this.#insert = db.prepare('INSERT INTO chunks (data) VALUES (?)')
    this.#note = db.prepare('INSERT INTO messages VALUES (NULL, 1, 0, ?)')
    this.#count = db.prepare(
      'UPDATE mailboxes SET uid_next = uid_next + 1, message_count = message_count + 1'
    )
    this.#select = db.prepare('SELECT data FROM chunks WHERE id = ?').pluck()
  }

  /**
   * @param {Buffer} bytes
   * @returns {Promise<void>} when it is on the disk
   */
  async append(bytes) {
    const frame = zstdCompressSync(bytes, LEVEL)
    this.#db.exec('BEGIN IMMEDIATE')
    this.#insert.run(frame)
    this.#note.run(bytes.length)
    this.#count.run()
    this.#db.exec('COMMIT')
    this.#descriptor ??= openSync(`${this.#path}-wal`, 'r')
    await sync(this.#descriptor)
    if (fstatSync(this.#descriptor).size > CHECKPOINT_BYTES)
      this.#db.pragma('wal_checkpoint(TRUNCATE)')
  }

  /**
   * @param {number} number - of a message, from 1
   * @returns {Buffer}
   */
  read(number) {
    return zstdDecompressSync(/** @type {Buffer} */ (this.#select.get(number)))
  }

  close() {
    if (this.#descriptor !== null) closeSync(this.#descriptor)
    this.#db.close()
  }
}

/** @type {Map<string, BareStore>} */
const stores = new Map()

/**
 * @param {string} name
 * @returns {BareStore}
 */
function storeOf(name) {
  const store = stores.get(name) ?? new BareStore(name)
  stores.set(name, store)
  return store
}

const server = createServer({ noDelay: true }, (socket) => {
  let waiting = Buffer.alloc(0)
  let name = 'nobody'
  socket.write('* OK bare\r\n')
  socket.on('error', () => {})

  /** @returns {Buffer | null} what to answer to the command that is taken off; null: none is complete */
  const takeCommand = () => {
    const end = waiting.indexOf('\r\n')
    if (end < 0) return null
    const line = waiting.toString('latin1', 0, end)
    const [tag, command, argument = ''] = line.split(' ')
    const literal = /\{(\d+)\+\}$/.exec(line)
    const size = literal ? Number(literal[1]) + 2 : 0
    const next = end + 2 + size
    if (waiting.length < next) return null
    const bytes = waiting.subarray(end + 2, next - 2)
    waiting = waiting.subarray(next)
    const done = Buffer.from(`${tag} OK done\r\n`)
    if (literal) {
      storeOf(name)
        .append(bytes)
        .then(() => socket.write(done))
      return Buffer.alloc(0)
    }
    if (command === 'LOGIN') name = argument.replaceAll(/\W/g, '')
    if (command !== 'FETCH') return done
    const body = storeOf(name).read(Number(argument))
    const head = Buffer.from(`* ${argument} FETCH (BODY[] {${body.length}}\r\n`)
    return Buffer.concat([head, body, Buffer.from(')\r\n'), done])
  }

  socket.on('data', (bytes) => {
    waiting = waiting.length > 0 ? Buffer.concat([waiting, bytes]) : bytes
    const answers = []
    for (let answer = takeCommand(); answer !== null; answer = takeCommand()) answers.push(answer)
    const all = Buffer.concat(answers)
    if (all.length > 0) socket.write(all)
  })
})

process.on('SIGTERM', () => {
  for (const store of stores.values()) store.close()
  process.exit(0)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(port)
})
