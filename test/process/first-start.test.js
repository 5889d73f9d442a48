import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAIN, letterlock, portsIn, scratchFolder, startServerProcess } from '../helpers/process.js'
import { WireClient } from '../helpers/wire-client.js'

/** Nobody supervises: as from a person's shell. */
const WATCHED = { NODE_ENV: '', LETTERLOCK_LOG_LEVEL: 'warn' }

test('a first start makes a mailbox, shows how to connect, and a letter lies in INBOX; a second finds it as it was', async (t) => {
  const data = join(scratchFolder(t, 'first'), 'data')
  const first = await startServerProcess(t, { data, environment: WATCHED })
  const user = /^ {2}user +(\S+)$/m.exec(first.output())?.[1] ?? ''
  const password = /^ {2}password +(\S+)$/m.exec(first.output())?.[1] ?? ''
  assert.equal(user, 'me@localhost')
  assert.match(password, /^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/)
  assert.match(first.output(), /^ {2}recovery code +llrec-/m)
  const fingerprint = /^certificate SHA-256 ([0-9A-F:]{95})$/m.exec(first.output())?.[1]
  assert.ok(fingerprint)

  const client = await WireClient.connect(first.ports.imaps, { isTls: true })
  const { fingerprint256 } = /** @type {import('node:tls').TLSSocket} */ (
    client.socket
  ).getPeerCertificate()
  assert.equal(fingerprint256, fingerprint)
  await client.login(user, password)
  assert.match(await client.command('SELECT INBOX'), /\* 1 EXISTS/)
  assert.match(await client.command('FETCH 1 BODY.PEEK[]'), /Welcome[^]*only your password opens/)
  const list = await client.command('LIST "" *')
  for (const use of ['Drafts', 'Sent', 'Junk', 'Trash', 'Archive'])
    assert.match(list, new RegExp(`\\\\${use}\\b`))
  await client.command('LOGOUT')
  const health = await fetch(`http://127.0.0.1:${first.ports.admin}/health/ready`)
  assert.equal(health.status, 200)
  assert.equal(await first.stop(), 0)
  assert.match(first.output(), /^stopped$/m)

  const second = await startServerProcess(t, { data, environment: WATCHED })
  assert.doesNotMatch(second.output(), /password/)
  assert.ok(second.output().includes(fingerprint))
  const again = await WireClient.connect(second.ports.imap)
  await again.login('me', password)
  assert.match(await again.command('SELECT INBOX'), /\* 1 EXISTS/)
  again.destroy()
  second.child.kill('SIGINT')
  await once(second.child, 'close')
  assert.equal(second.child.exitCode, 0)
})

test('a SIGHUP while the server starts, as of an ACME client, does not end it', async (t) => {
  const data = join(scratchFolder(t, 'hangup'), 'data')
  const listen = ['imap', 'imaps', 'lmtp', 'admin'].flatMap((name) => [`--${name}`, '127.0.0.1:0'])
  const child = spawn(process.execPath, [MAIN, 'serve', ...listen, '--data', data], {
    env: { ...process.env, ...WATCHED },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let said = ''
  child.stdout.on('data', (chunk) => (said += chunk))
  // Its first file is there before anything listens.
  while (!existsSync(join(data, 'pepper')) && child.exitCode === null) await sleep(1)
  child.kill('SIGHUP')
  while (!said.includes('ready\n') && child.exitCode === null && child.signalCode === null)
    await sleep(10)
  assert.match(said, /^ready$/m)
  child.kill('SIGTERM')
  await closed
  assert.equal(child.exitCode, 0)
})

test('nothing under data/ can be read by another user of the machine', async (t) => {
  const data = join(scratchFolder(t, 'modes'), 'data')
  const server = await startServerProcess(t, { data, environment: WATCHED })
  await server.stop()
  assert.equal(statSync(data).mode & 0o077, 0)
  for (const entry of readdirSync(data, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!path.endsWith('certificate.pem')) assert.equal(statSync(path).mode & 0o077, 0, path)
  }
})

for (const environment of [{ NODE_ENV: 'production' }, { pm_id: '0' }, { INVOCATION_ID: 'x' }]) {
  test(`under supervision (${Object.keys(environment)}) no account is made, and the next command is shown`, async (t) => {
    const data = join(scratchFolder(t, 'supervised'), 'data')
    const server = await startServerProcess(t, {
      data,
      environment: { ...WATCHED, ...environment }
    })
    assert.match(server.output(), /No account yet\. Make one: letterlock account create/)
    assert.doesNotMatch(server.output(), /password {2}/)
    assert.equal(await server.stop(), 0)
    const listed = await letterlock(['account', 'list', '--data', data])
    assert.equal(listed.code, 0)
    assert.doesNotMatch(listed.stdout, /@/)
  })
}

test('LOGIN without TLS is refused unless the configuration permits it on loopback', async (t) => {
  const data = join(scratchFolder(t, 'plain'), 'data')
  const environment = { ...WATCHED, LETTERLOCK_IMAP_ALLOW_PLAINTEXT_LOOPBACK: 'false' }
  const server = await startServerProcess(t, { data, environment, isPlaintextAllowed: false })
  const client = await WireClient.connect(server.ports.imap)
  assert.match(await client.command('CAPABILITY'), /STARTTLS[^\r]*LOGINDISABLED/)
  assert.match(await client.command('LOGIN me x'), /w\d+ NO \[PRIVACYREQUIRED\]/)
  client.destroy()
  await server.stop()
})

test('a port that is taken, a misspelt option and a bad setting each give one clear line and their exit code', async (t) => {
  const data = join(scratchFolder(t, 'refused'), 'data')
  const server = await startServerProcess(t, { data, environment: WATCHED })
  const taken = await letterlock([
    'serve',
    '--data',
    join(data, '..', 'other'),
    '--imap',
    `127.0.0.1:${server.ports.imap}`
  ])
  assert.equal(taken.code, 1)
  assert.equal(
    taken.stderr,
    `letterlock: Another program listens there\n  imap.listen: 127.0.0.1:${server.ports.imap}\n`
  )
  const free = ['imap', 'imaps', 'lmtp', 'admin'].flatMap((name) => [`--${name}`, '127.0.0.1:0'])
  const start = (/** @type {string} */ folder, environment = {}) =>
    letterlock(['serve', '--data', folder, ...free], { environment })
  const path = join(data, '..', 'x'.repeat(120))
  const socket = await start(join(data, '..', 'other'), { LETTERLOCK_ADMIN_SOCKET: path })
  assert.equal(socket.code, 1)
  assert.match(socket.stderr, /^ {2}admin\.socket cannot listen on \S+: E[A-Z]+\n$/m)
  const inFile = await start(join(data, 'directory.db', 'data'))
  assert.equal(inFile.code, 1)
  assert.match(inFile.stderr, /^letterlock: The configuration is not valid\n {2}ENOTDIR: /m)
  const misspelt = await letterlock(['serve', '--dta', data])
  assert.equal(misspelt.code, 2)
  assert.match(misspelt.stderr, /unknown option '--dta'[^]*--data/)
  const setting = await letterlock(['account', 'list', '--data', data], {
    environment: { LETTERLOCK_MESSAGES_MAX_BYTES: 'many' }
  })
  assert.equal(setting.code, 1)
  assert.match(setting.stderr, /messages\.maxBytes must be integer/)
  await server.stop()
})

/** @returns {string | undefined} a Node on this machine that the program does not run under */
function findOlderNode() {
  const { stdout } = spawnSync('which', ['-a', 'node'], { encoding: 'utf8' })
  return stdout
    .split('\n')
    .filter((path) => path !== '')
    .find((path) => {
      const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout
      const major = Number(/^v(\d+)/.exec(version)?.[1])
      return major >= 18 && major < 24
    })
}

test('started on an older Node, the program runs itself again under the pinned one', (t) => {
  const older = findOlderNode()
  if (older === undefined) return t.skip('this machine has no Node between 18 and 23')
  const result = spawnSync(older, [MAIN, '--version'], {
    encoding: 'utf8',
    env: { ...process.env, UV_THREADPOOL_SIZE: undefined }
  })
  assert.equal(result.status, 0, result.stderr)
  assert.match(result.stdout, /^\d+\.\d+\.\d+\n$/)
})

/** @param {import('node:stream').Readable} stream */
function collect(stream) {
  let text = ''
  stream.on('data', (chunk) => (text += String(chunk)))
  const until = async (/** @type {RegExp} */ pattern) => {
    while (!pattern.test(text)) {
      if (stream.readableEnded) throw new Error(`it ended before ${pattern}: ${text}`)
      await Promise.race([once(stream, 'data'), once(stream, 'end')])
    }
  }
  return { text: () => text, until }
}

test('one Ctrl-C at a server that was started on an older Node lets a delivery come to its end', async (t) => {
  const older = findOlderNode()
  if (older === undefined) return t.skip('this machine has no Node between 18 and 23')
  const data = join(scratchFolder(t, 'ctrl-c'), 'data')
  const ports = ['imap', 'imaps', 'lmtp', 'admin'].map((name) => `--${name} 127.0.0.1:0`)
  // A shell that stays between the two would die of the Ctrl-C itself (dash does), and script(1) would say so.
  const command = `exec '${older}' '${MAIN}' serve --data '${data}' ${ports.join(' ')}`
  const terminal = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, ...WATCHED, SHELL: '/bin/sh', UV_THREADPOOL_SIZE: undefined }
  })
  t.after(() => terminal.kill('SIGKILL'))
  const output = collect(terminal.stdout)
  await output.until(/^ready/m)
  const sender = await WireClient.connect(portsIn(output.text()).lmtp)
  sender.send('LHLO mta\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<me@localhost>\r\nDATA\r\n')
  await sender.until(/354 .*\r\n/)
  const ended = once(terminal, 'close')
  terminal.stdin.write('\x03')
  await output.until(/stopping/)
  sender.send('Subject: late\r\n\r\nstill taken\r\n.\r\n')
  await sender.until(/250 2\.0\.0 Sealed.*\r\n/)
  sender.destroy()
  const [code] = await ended
  assert.equal(code, 0)
})

for (const command of [
  '',
  'serve',
  'account',
  'account create',
  'app-password create',
  'import',
  'check'
]) {
  test(`--help of "${command}" says what it does${command.includes(' ') || ['serve', 'import', 'check'].includes(command) ? ', with an example' : ''}`, async () => {
    const { code, stdout } = await letterlock([
      ...command.split(' ').filter((word) => word !== ''),
      '--help'
    ])
    assert.equal(code, 0)
    assert.match(stdout, /^Usage: letterlock/)
    if (/serve|import|check|create/.test(command)) assert.match(stdout, /Example/)
  })
}
