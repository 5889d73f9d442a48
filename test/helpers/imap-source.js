/**
 * An IMAP server to copy from that can misbehave as real ones do: a test may answer any command in its place.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * @typedef {object} OfferedMessage
 * @property {number} uid
 * @property {Buffer} bytes
 * @property {string} [flags]
 * @property {number} [size] - as it is told
 *
 * @typedef {{ uidValidity: number, messages: OfferedMessage[] }} OfferedFolder
 *
 * @typedef {object} Exchange - one command, and the ways to answer it
 * @property {string} command - without its tag
 * @property {import('node:net').Socket} socket
 * @property {(line: string) => unknown} say - an untagged response, without `* `
 * @property {(text?: string) => unknown} end - the tagged one
 */

const DATE = '01-Jan-2024 10:00:00 +0100'

/**
 * @param {import('node:test').TestContext} t - it ends with the test
 * @param {object} options
 * @param {Record<string, OfferedFolder>} options.folders
 * @param {(exchange: Exchange) => boolean | void} [options.answer] - true: nothing else answers this command
 * @returns {Promise<{ port: number }>}
 */
export async function startImapSource(t, { folders, answer = () => false }) {
  const server = createServer((socket) => {
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    serve(socket, { folders, answer })
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: /** @type {import('node:net').AddressInfo} */ (server.address()).port }
}

/**
 * @param {import('node:net').Socket} socket
 * @param {{ folders: Record<string, OfferedFolder>, answer: (exchange: Exchange) => boolean | void }} options
 */
function serve(socket, { folders, answer }) {
  let rest = ''
  /** @type {OfferedMessage[]} */
  let selected = []
  socket.write('* OK ready\r\n')
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1')
    for (let at; (at = rest.indexOf('\r\n')) !== -1;) {
      const [, tag = '', command = ''] = /^(\S+) (.*)$/.exec(rest.slice(0, at)) ?? []
      rest = rest.slice(at + 2)
      const say = (/** @type {string} */ line) => socket.write(`* ${line}\r\n`)
      const end = (text = 'OK done') => socket.write(`${tag} ${text}\r\n`)
      const exchange = { command, socket, say, end }
      if (answer(exchange) !== true) selected = usual(exchange, folders, selected)
    }
  })
}

/**
 * @param {Exchange} exchange
 * @param {Record<string, OfferedFolder>} folders
 * @param {OfferedMessage[]} selected
 * @returns {OfferedMessage[]} those of the folder that is selected now
 */
function usual({ command, socket, say, end }, folders, selected) {
  const [name = ''] = command.split(' ')
  if (name === 'CAPABILITY') say('CAPABILITY IMAP4rev1')
  if (name === 'LIST' && !command.includes('"" ""'))
    for (const path of Object.keys(folders)) say(`LIST () "." "${path}"`)
  if (name === 'STATUS') say(`STATUS ${command.split(' ')[1]} (MESSAGES 0)`)
  if (name === 'EXAMINE') {
    const path = command.slice('EXAMINE '.length).replaceAll('"', '')
    const folder = folders[path] ?? { uidValidity: 0, messages: [] }
    selected = folder.messages
    say(`${selected.length} EXISTS`)
    say(`OK [UIDVALIDITY ${folder.uidValidity}] valid`)
    say(`OK [UIDNEXT ${(selected.at(-1)?.uid ?? 0) + 1}] next`)
  }
  if (command.startsWith('UID SEARCH')) say(['SEARCH', ...selected.map(({ uid }) => uid)].join(' '))
  if (command.startsWith('UID FETCH')) {
    selected.forEach((message, index) => socket.write(fetched(command, message, index + 1)))
  }
  end()
  return selected
}

/**
 * @param {string} command - UID FETCH …
 * @param {OfferedMessage} message
 * @param {number} number
 * @returns {Buffer} nothing where it is not asked for
 */
function fetched(command, { uid, bytes, flags = '', size = bytes.length }, number) {
  const [, , set = ''] = command.split(' ')
  const isWanted = set.split(',').some((range) => {
    const [first = 0, last = first] = range.split(':').map(Number)
    return uid >= first && uid <= last
  })
  if (!isWanted) return Buffer.alloc(0)
  const items = [
    `UID ${uid}`,
    ...(command.includes('FLAGS') ? [`FLAGS (${flags})`] : []),
    ...(command.includes('INTERNALDATE') ? [`INTERNALDATE "${DATE}"`] : []),
    ...(command.includes('RFC822.SIZE') ? [`RFC822.SIZE ${size}`] : [])
  ]
  const body = /BODY\.PEEK\[\](?:<(\d+)\.(\d+)>)?/.exec(command)
  const head = `* ${number} FETCH (${items.join(' ')}`
  if (!body) return Buffer.from(`${head})\r\n`)
  const [, start, length] = body
  const from = Number(start ?? 0)
  const part = start === undefined ? bytes : bytes.subarray(from, from + Number(length))
  const origin = start === undefined ? '' : `<${start}>`
  return Buffer.concat([
    Buffer.from(`${head} BODY[]${origin} {${part.length}}\r\n`),
    part,
    Buffer.from(')\r\n')
  ])
}
