import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pm2 } from '../../../scripts/cluster/pm2.js'
import { scratchFolder } from '../../helpers/account-folder.js'

test('where PM2 cannot even be started, the message says why', async (t) => {
  const environment = /** @type {ConstructorParameters<typeof Pm2>[0]} */ ({
    ...process.env,
    PM2_HOME: await scratchFolder(t)
  })
  // More than the system hands to any program.
  const pm2 = new Pm2({ ...environment, TOO_MUCH: 'x'.repeat(4_000_000) })
  assert.throws(() => pm2.run(['ping']), /^CliError: pm2 ping has failed:\n.*E2BIG/)
})
