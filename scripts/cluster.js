/**
 * `npm run cluster`, `cluster:reload`, `cluster:stop`: the project's own PM2 under the Node that runs this script, with a
 * daemon of its own. A daemon that another PM2 has started would run the workers on that one's Node, and without the
 * allocator's settings, which a process reads only at its start.
 *
 * Everything else that PM2 can do: `npm run cluster -- <command>`, for instance `npm run cluster -- logs`.
 */
import { findDataFolder, loadConfig } from '../config/load.js'
import { clusterEnvironment } from '../config/runtime.js'
import { enterDataFolder } from '../src/cli/data-folder.js'
import { Outputs } from '../src/cli/outputs.js'
import { report } from '../src/cli/report.js'
import { makeFolderDurably } from '../src/support/write-file.js'
import { bringUp } from './cluster/bring-up.js'
import { ECOSYSTEM, Pm2 } from './cluster/pm2.js'

process.umask(0o077)

/**
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
async function run([command = 'start', ...rest]) {
  const isWholeStop = command === 'stop' && rest.length === 0
  const { data, isValid } = isWholeStop
    ? findDataFolder()
    : { data: loadConfig().data, isValid: true }
  // First of all: what root makes in the data folder, PM2's files too, would be closed to workers, which become its owner.
  enterDataFolder(data, { mayBeNew: true })
  const environment = clusterEnvironment(data)
  await makeFolderDurably(environment.PM2_HOME)
  const pm2 = new Pm2(environment)
  if (isWholeStop) {
    // ECOSYSTEM loads only with valid settings; `all` is the same, as the daemon has no other apps.
    const exitCode = pm2.show(['stop', isValid ? ECOSYSTEM : 'all'])
    // The daemon goes too: after an upgrade the next start has the new Node.
    return pm2.show(['kill']) || exitCode
  }
  switch (command) {
    case 'start':
    case 'reload':
      await bringUp({
        config: loadConfig(),
        pm2,
        tell: (line) => process.stdout.write(`${line}\n`)
      })
      return pm2.show(['list'])
    default:
      pm2.startDaemon()
      return pm2.show([command, ...rest])
  }
}

// A reload must not end in the middle because nobody reads on (`| head -1`).
const outputs = new Outputs([process.stdout, process.stderr])
const args = process.argv.slice(2)
// The npm script puts `start` first: `npm run cluster -- logs` gives `start logs`.
if (args.length > 1 && args[0] === 'start') args.shift()
const exitCode = await run(args).catch((error) => report(error, process.stderr))
process.exitCode = (await outputs.flushed()) === null ? exitCode : exitCode || 1
