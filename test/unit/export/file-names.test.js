import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FileNames } from '../../../src/export/file-names.js'

const place = (/** @type {FileNames} */ names, /** @type {string} */ name) =>
  names.placeOf(name).join('/')

test('names stay inside the folder, differ, and are possible everywhere', () => {
  const names = new FileNames()
  for (const [name, wanted] of [
    ['INBOX', 'INBOX'],
    ['inbox?', 'inbox_'],
    ['inbox_', 'inbox_ 2'],
    ['..', '__'],
    ['../../etc', '__/__/etc'],
    ['x.mbox/y', 'x.mbox_/y'],
    ['Con', '_Con'],
    ['con.txt/a:b', '_con.txt/a_b'],
    ['sent', 'sent'],
    ['SENT', 'SENT 2'],
    ['SENT/x', 'SENT 2/x'],
    ['sEnt', 'sEnt 3'],
    ['SENT', 'SENT 2'],
    // One name for file systems that compose, or take apart, what is written to them.
    ['\u00fc', '\u00fc'],
    ['u\u0308', 'u\u0308 2']
  ])
    assert.equal(place(names, name ?? ''), wanted)
})

test('a level loses what some system cannot have in a name', () => {
  for (const [level, wanted] of [
    ['\u0000a\u001fb\u007fc\u009fd\u2028e\u2029f', '_a_b_c_d_e_f'],
    ['\\a:b*c?d"e<f>g|h', '_a_b_c_d_e_f_g_h'],
    ['\ud800x', '\ufffdx'],
    ['.hidden', '_hidden'],
    ['a.b', 'a.b'],
    ['a. .', 'a_'],
    [' a ', ' a_'],
    ['.', '_'],
    ['', '_']
  ])
    assert.equal(place(new FileNames(), level ?? ''), wanted)
  for (const device of ['con', 'PRN', 'aux', 'Nul', 'com1', 'LPT9', 'aux.tar.gz'])
    assert.equal(place(new FileNames(), device), `_${device}`)
  for (const none of ['cons', 'a con', 'com', 'com12', 'lpt 1'])
    assert.equal(place(new FileNames(), none), none)
  // Names of files beside the folders, and the ending that an import takes off the name of a folder.
  for (const taken of ['x.eml', 'x.MBOX', 'x.sbd'])
    assert.equal(place(new FileNames(), taken), `${taken}_`)
})

test('of a long level as much stays as has room, and no part of a letter', () => {
  for (const [level, wanted] of [
    ['x'.repeat(150), 'x'.repeat(150)],
    ['x'.repeat(151), 'x'.repeat(150)],
    [`x${'ü'.repeat(400)}`, `x${'ü'.repeat(74)}`],
    [`x${'😀'.repeat(100)}`, `x${'😀'.repeat(37)}`]
  ])
    assert.equal(place(new FileNames(), level ?? ''), wanted)
})
