/**
 * Text to HTML: whatever is put into a page is escaped, unless `html` has made it.
 */

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** A piece of a page that is escaped already. Only `html` makes one. */
export class Html {
  #text

  /** @param {string} text */
  constructor(text) {
    this.#text = text
  }

  /** @returns {string} */
  toString() {
    return this.#text
  }
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function escaped(value) {
  if (value instanceof Html) return value.toString()
  if (Array.isArray(value)) return value.map(escaped).join('')
  if (value === null || value === undefined || value === false) return ''
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/**
 * A template tag, which escapes its values.
 *
 * @param {TemplateStringsArray} strings
 * @param {...unknown} values - null, undefined and false stand for nothing; lists are joined
 * @returns {Html}
 */
export function html(strings, ...values) {
  return new Html(
    strings.reduce((text, string, index) => text + escaped(values[index - 1]) + string)
  )
}
