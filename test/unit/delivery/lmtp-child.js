/**
 * A delivery server in a process of its own, for tests that kill it, trace it or weigh it.
 * Arguments: data folder, largest message in bytes. Prints its port. Ends with its standard input.
 */
import { createLmtpServer } from '../../../src/delivery/lmtp.js'
import { systemClock } from '../../../src/support/clock.js'
import { DELIVERY_CONFIG, openTestDirectory, silentLogger } from '../../helpers/delivery.js'

const [, , dataFolder = '', maxBytes = '1000000'] = process.argv
const server = createLmtpServer({
  config: { ...DELIVERY_CONFIG, messages: { maxBytes: Number(maxBytes) } },
  directory: openTestDirectory(dataFolder),
  clock: systemClock,
  logger: silentLogger,
  notify: () => {}
})
const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
console.log(port)
process.stdin.resume().on('end', () => process.exit(0))
