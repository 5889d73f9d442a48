/**
 * Ports for programs that cannot listen on port 0 and tell which port they got: until such a program has started, nobody else
 * may get its port.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the range from which Linux takes a port where port 0 is asked for (net.ipv4.ip_local_port_range). */
const FIRST_PORT = 10_000
const END_PORT = 32_000

/** @type {Set<number>} */
const given = new Set()

/** @returns {Promise<number>} a port of loopback that nobody listens on, and that the kernel gives to nobody by itself */
export async function freePort() {
  for (;;) {
    const port = randomInt(FIRST_PORT, END_PORT)
    if (given.has(port)) continue
    given.add(port)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
