/**
 * Waiting for a socket that nobody else reads from.
 */

/**
 * @param {import('node:net').Socket} socket
 * @returns {Promise<void>} when it has bytes or has ended
 */
export function somethingHappens(socket) {
  const events = ['readable', 'end', 'close']
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) socket.off(event, done)
      resolve()
    }
    for (const event of events) socket.on(event, done)
  })
}
