/**
 * What the commands of backups say where there are none, or where their disk is not mounted.
 */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import { letterlock, scratchFolder } from '../../helpers/process.js'

const ANNA = 'anna@example.org'
const PASSWORD = { input: 'secret\n' }
test('a new host that looks for backups where there are none is told what names their place', async (t) => {
  const data = join(scratchFolder(t, 'nowhere'), 'data')
  for (const args of [
    ['verify', '--all'],
    ['restore', '--host']
  ]) {
    const { code, stderr } = await letterlock(['backup', ...args, '--data', data])
    assert.equal(
      stderr,
      `letterlock: There is no such backup (there is none in ${data}/backup: have backup.folder or backup.s3 name the place that they are in)\n`
    )
    assert.equal(code, 2)
  }
})

test('backup list says that backups are not set up, or that there is none yet', async (t) => {
  const data = join(scratchFolder(t, 'list'), 'data')
  const run = (/** @type {string[]} */ ...args) => letterlock([...args, '--data', data], PASSWORD)
  await run('account', 'create', ANNA, '--password-stdin')
  assert.match((await run('backup', 'list')).stderr, /^Backups are not set up here; first: /)
  assert.match(
    (await run('backup', 'run')).stderr,
    /^letterlock: Backups are not ready here \(first/
  )
  await run('backup', 'init')
  const again = await run('backup', 'init')
  assert.equal(again.code, 2)
  assert.match(
    again.stderr,
    /^letterlock: Backups are set up already \(in .*backup; for another rec/
  )
  assert.doesNotMatch(again.stderr, /not set up|not ready/)
  const { code, stdout, stderr } = await run('backup', 'list')
  assert.deepEqual([code, stdout], [0, ''])
  assert.equal(stderr, `No backup yet in ${join(data, 'backup')}\n`)
  // As it is asked before an upgrade: the directory stays the older server's.
  const path = join(data, 'directory.db')
  const db = new Database(path)
  t.after(() => db.close())
  const versionOf = () =>
    Number(db.prepare('SELECT max(version) FROM schema_migrations').pluck().get())
  const older = versionOf() - 1
  db.prepare('DELETE FROM schema_migrations WHERE version > ?').run(older)
  assert.equal((await run('backup', 'list')).stderr, stderr)
  assert.equal(versionOf(), older)
  db.close()
  writeFileSync(path, 'no database')
  const damaged = await run('backup', 'list')
  assert.equal(damaged.code, 2)
  assert.match(
    damaged.stderr,
    /^letterlock: The directory of accounts is damaged \(directory\.db: /
  )
})

test('a place of backups that is empty because its disk is not mounted is not called good, nor one without any yet', async (t) => {
  const parent = scratchFolder(t, 'unmounted')
  const data = join(parent, 'data')
  const target = join(parent, 'target')
  const run = (/** @type {string[]} */ ...args) =>
    letterlock([...args, '--data', data], {
      ...PASSWORD,
      environment: { LETTERLOCK_BACKUP_FOLDER: target }
    })
  await run('account', 'create', ANNA, '--password-stdin')
  await run('backup', 'init')
  for (const args of [
    ['verify', '--all'],
    ['restore', ANNA, '--yes']
  ]) {
    const { stderr } = await run('backup', ...args)
    assert.equal(
      stderr,
      `letterlock: There is no such backup (there is none yet in ${target})\n`,
      args.join(' ')
    )
  }
  await run('backup', 'run')
  const manifests = join(target, 'generations')
  renameSync(manifests, `${manifests}-away`)
  for (const args of [['list'], ['restore', ANNA, '--yes']]) {
    const { code, stderr } = await run('backup', ...args)
    assert.match(
      stderr,
      /^letterlock: The backup is damaged \(.* has no backup any more, not that of .*: bring generations\/ back/,
      args.join(' ')
    )
    assert.equal(code, 2)
  }
  renameSync(`${manifests}-away`, manifests)
  renameSync(target, `${target}-away`)
  mkdirSync(target)
  for (const args of [
    ['list'],
    ['verify', '--all', '--quick'],
    ['verify'],
    ['restore', ANNA, '--yes']
  ]) {
    const { code, stderr } = await run('backup', ...args)
    assert.match(stderr, /holds no backups of this host: mount their disk/, args.join(' '))
    assert.equal(code, 2)
  }
  // A new disk in the place of the one that is gone has lost nothing.
  await run('backup', 'init')
  assert.equal((await run('backup', 'list')).stderr, `No backup yet in ${target}\n`)
})
