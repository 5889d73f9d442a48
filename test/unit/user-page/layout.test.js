/**
 * What the pages tell those who do not see them: password managers and screen readers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from '../../../src/user-page/html.js'
import { ownerFields, passwordField, renderPage } from '../../../src/user-page/layout.js'

/** @import { PageLogin } from '../../../src/user-page/guard.js' */

const LOGIN = /** @type {PageLogin} */ (
  /** @type {unknown} */ ({
    account: { address: 'alice@example.org' },
    session: { token: 'one-token', username: 'a"lice' }
  })
)

/**
 * @param {unknown} page
 * @param {string} name - of an element
 * @returns {string[]} each such start tag, its attributes with one space between them
 */
const tagsIn = (page, name) =>
  [...String(page).matchAll(new RegExp(`<${name}\\b[^>]*>`, 'g'))].map(([tag]) =>
    tag.replaceAll(/\s+/g, ' ')
  )

test('a field for a new password says how long it must be, and where that is explained', () => {
  const field = passwordField({
    name: 'new',
    label: 'New password',
    autocomplete: 'new-password',
    hint: 'At least 8 characters',
    minLength: 8
  })
  assert.deepEqual(tagsIn(field, 'label'), ['<label for="new">'])
  assert.deepEqual(tagsIn(field, 'p'), ['<p class="hint" id="new-hint">'])
  assert.deepEqual(tagsIn(field, 'input'), [
    '<input id="new" name="new" type="password" autocomplete="new-password" required maxlength="1000" ' +
      'minlength="8" aria-describedby="new-hint" />'
  ])
})

test('a field for the present password asks for any, and explains nothing', () => {
  const field = passwordField({
    name: 'password',
    label: 'Password',
    autocomplete: 'current-password'
  })
  assert.deepEqual(tagsIn(field, 'p'), [])
  assert.deepEqual(tagsIn(field, 'input'), [
    '<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1000" />'
  ])
})

test('a form that asks for a password has the name that a password manager looks for, unseen and not to be changed', () => {
  assert.deepEqual(tagsIn(ownerFields(LOGIN), 'input'), [
    '<input type="hidden" name="token" value="one-token" />',
    '<input name="username" value="a&quot;lice" autocomplete="username" readonly hidden />'
  ])
})

test('the menu marks the page that is shown, and no other; who is not logged in has none', () => {
  const facts = { title: 'Sessions', body: html`<p>here</p>` }
  const marked = tagsIn(renderPage({ ...facts, login: LOGIN, path: '/sessions' }), 'a').filter(
    (tag) => tag.includes('aria-current')
  )
  assert.deepEqual(marked, ['<a href="/sessions" aria-current="page">'])
  const page = renderPage(facts)
  assert.deepEqual([tagsIn(page, 'nav'), tagsIn(page, 'form')], [[], []])
  assert.deepEqual(tagsIn(page, 'h1').length, 1)
})

test('a problem is read out at once, a notice when there is time', () => {
  const problem = { status: 422, text: 'Not <b>this</b>' }
  const page = renderPage({ title: 'Password', body: html``, problem, notice: 'Done' })
  assert.match(page, /role="alert">Not &lt;b&gt;this&lt;\/b&gt;</)
  assert.match(page, /role="status">Done</)
  assert.doesNotMatch(renderPage({ title: 'Password', body: html`` }), /role=/)
})
