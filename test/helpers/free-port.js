/**
 * Ports for programs that cannot be told to take any and say which: between the asking and the program's own start nobody
 * else may get the port.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below what Linux gives to who asks for port 0 (net.ipv4.ip_local_port_range). */
const FIRST = 10_000
const END = 32_000

/** @type {Set<number>} */
const given = new Set()

/** @returns {Promise<number>} a port of loopback that nobody listens on, and that the kernel gives to nobody by itself */
export async function freePort() {
  for (;;) {
    const port = randomInt(FIRST, END)
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
