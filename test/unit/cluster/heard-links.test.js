import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeardLinks } from '../../../src/cluster/heard-links.js'

test('something may have been missed once a link has ended and another has begun, whichever is noticed first', () => {
  let missed = 0
  const links = new HeardLinks(() => missed++)
  links.begin('a')
  links.begin('b')
  links.end('a')
  assert.equal(missed, 0)
  links.begin('a')
  assert.equal(missed, 1)
  links.begin('a')
  assert.equal(missed, 1)
  links.end('a')
  assert.equal(missed, 2)
  links.end('a')
  links.end('b')
  assert.equal(missed, 2)
  links.begin('b')
  assert.equal(missed, 3)
})
