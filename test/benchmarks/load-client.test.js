import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { ImapClient } from '../../benchmarks/lib/imap-client.js'

const UIDS = Array.from({ length: 20_000 }, (_, index) => 2 * index + 1).join(',')
const ANSWERS = [
  { what: 'a short line', line: 'OK done' },
  { what: 'a COPYUID of UIDs far apart', line: `OK [COPYUID 1 ${UIDS} 1:20000] done` },
  { what: 'a line as long as what is looked at', line: `OK ${'x'.repeat(2048)}` }
]

for (const { what, line } of ANSWERS) {
  for (const before of ['', '* 1 EXISTS\r\n'.repeat(500)]) {
    test(`the load client reads ${what}, ${before ? 'behind' : 'without'} a long answer`, async (t) => {
      const server = createServer((socket) => {
        socket.write('* OK ready\r\n')
        socket.on('data', (command) => {
          const answer = `${before}${command.toString('latin1').split(' ')[0]} ${line}\r\n`
          const middle = Math.floor(answer.length / 2)
          socket.write(answer.slice(0, middle), () =>
            setImmediate(() => socket.write(answer.slice(middle)))
          )
        })
      })
      t.after(() => server.close())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      const client = await ImapClient.connect({ host: '127.0.0.1', port })
      t.after(() => client.close())
      const { bytes, status } = await client.run('NOOP')
      assert.equal(status, line)
      assert.ok(bytes.toString('latin1').startsWith(before))
    })
  }
}
