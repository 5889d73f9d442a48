/**
 * How a backup or a command talks to the processes that have mailboxes open: JSON lines over a unix socket of each process, in
 * `<data>/run`. One question at a time on each connection; the answer to each is one line.
 *
 *     {"op":"ping"}                                →  alive
 *     {"op":"freeze","accountId","token","forMs"}  →  held | closed (not open here) | busy
 *     {"op":"renew","token","forMs"}               →  held | broken
 *     {"op":"thaw","token"}                        →  unbroken | broken
 *     {"op":"close","accountId"}                   →  closed, once its sessions have ended
 *     {"op":"ring","accountId"}                    →  alive: what lies in its spool is taken in where it is open
 *
 * What a connection has frozen is free when the connection ends, so that a backup that was killed holds nothing.
 */

/**
 * @typedef {{ op: 'ping' }
 *   | { op: 'freeze', accountId: string, token: string, forMs: number }
 *   | { op: 'renew', token: string, forMs: number }
 *   | { op: 'thaw', token: string }
 *   | { op: 'close', accountId: string }
 *   | { op: 'ring', accountId: string }} OwnerQuestion
 *
 * @typedef {'alive' | 'held' | 'closed' | 'busy' | 'broken' | 'unbroken' | 'failed'} OwnerAnswer
 */

/** Sockets of this kind, among what else may lie in the folder. */
const NAME = /^owner-\d+-[0-9a-f]+\.sock$/

/** More bytes than any question or answer has: whoever sends more without a line's end is no part of this program. */
const MAX_LINE_BYTES = 4096

/** A freeze lives this long without being renewed, ms: what a backup that hangs can cost the `-wal`. */
export const HOLD_MS = 60_000

/** A freeze is renewed this often, ms. */
export const RENEW_MS = 15_000

/**
 * @param {string} random - hexadecimal
 * @returns {string} file name of this process's socket
 */
export const socketName = (random) => `owner-${process.pid}-${random}.sock`

/**
 * @param {string} name
 * @returns {boolean}
 */
export const isSocketName = (name) => NAME.test(name)

/**
 * Calls back with each whole line of a socket, parsed.
 *
 * @param {import('node:net').Socket} socket - destroyed where it sends a line that is no JSON, or too long
 * @param {(value: any) => void} onLine
 */
export function onJsonLine(socket, onLine) {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_BYTES) return socket.destroy()
    for (const line of lines) {
      let value
      try {
        value = JSON.parse(line)
      } catch {
        // Nothing of ours writes such a line: the connection means nothing.
        return socket.destroy()
      }
      onLine(value)
    }
  })
}

/**
 * @param {import('node:net').Socket} socket
 * @param {object} value
 */
export function writeJsonLine(socket, value) {
  socket.write(`${JSON.stringify(value)}\n`)
}
