import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from '../../../src/user-page/html.js'

test('text is escaped, and what is HTML already is not escaped again', () => {
  const evil = `<script>alert("1")</script> & 'more'`
  const inner = html`<b>${evil}</b>`
  assert.equal(
    html`<p title="${evil}">${inner}${[inner]}</p>`.toString(),
    [
      '<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;">',
      '<b>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;</b>'.repeat(2),
      '</p>'
    ].join('')
  )
})

test('null, undefined and false stand for nothing, zero for itself', () => {
  assert.equal(html`${null}${undefined}${false}${0}${[1, '<']}`.toString(), '01&lt;')
})
