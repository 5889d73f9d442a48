/**
 * Wrong logins from one address, as many and as fast as the server answers them. A program of its own, so that it does not
 * share an event loop with those whose time is taken:
 *
 *     node attacker.js PORT ADDRESS ATTEMPTS CONNECTIONS
 *
 * Every attempt has another password; half of them are on a name that exists, half on names that do not. Connections are
 * TLS, and made anew when the server ends them. Prints how each attempt was answered, as JSON.
 */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

const [port, localAddress = '', total, parallel] = process.argv.slice(2)
const attempts = Number(total)
const answers = { refused: 0, throttled: 0, lost: 0 }
let next = 0

/** Gives what is left of the attempts, one after the other, over one connection after the other. */
async function attack() {
  while (next < attempts) await connection()
}

/** @returns {Promise<void>} when the connection has ended, or the attempts have */
function connection() {
  return new Promise((resolve) => {
    const plain = connect({ host: '127.0.0.1', port: Number(port), localAddress })
    plain.on('error', () => {})
    const socket = connectTls({ socket: plain, rejectUnauthorized: false })
    let text = ''
    let isWaiting = false
    const attempt = () => {
      if (next >= attempts) return socket.destroy()
      const number = next++
      const name = number % 2 === 0 ? 'u1' : `nobody${number}`
      isWaiting = true
      socket.write(`a${number} LOGIN ${name} wrong${number}\r\n`)
    }
    socket.on('data', (chunk) => {
      text += chunk
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        if (line.startsWith('* OK')) attempt()
        else if (line.startsWith('a')) {
          isWaiting = false
          if (line.includes('[UNAVAILABLE]')) answers.throttled++
          else answers.refused++
          attempt()
        }
      }
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (isWaiting) answers.lost++
      resolve()
    })
  })
}

await Promise.all(Array.from({ length: Number(parallel) }, attack))
process.stdout.write(JSON.stringify(answers))
