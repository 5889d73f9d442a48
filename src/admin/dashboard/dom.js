/**
 * Elements from plain calls. Text is only ever set as text, so that nothing an account is called becomes markup.
 */

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes -
 *   a function listens for the event of its name
 */

/**
 * @param {string} name - with classes: `div.card.wide`
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElement}
 */
export function h(name, attributes = {}, ...children) {
  const [tag = 'div', ...classes] = name.split('.')
  const element = document.createElement(tag)
  if (classes.length > 0) element.classList.add(...classes)
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key, value)
    else if (value === true) element.setAttribute(key, '')
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, String(value))
    }
  }
  append(element, children)
  return element
}

/**
 * @param {Element} parent
 * @param {Child[]} children
 */
function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue
    parent.append(child instanceof Node ? child : String(child))
  }
}

/**
 * @param {Element} parent - what it had goes
 * @param {Child[]} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren()
  append(parent, children)
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id)
  if (!element) throw new Error(`the page has no #${id}`)
  return element
}

/**
 * @param {number} part - of 1
 * @param {number} much - from here on it stands out
 * @returns {HTMLElement}
 */
export function shareBar(part, much) {
  const bar = h('span')
  bar.style.width = `${Math.round(Math.min(1, part) * 100)}%`
  return h(part >= much ? 'span.share.much' : 'span.share', { 'aria-hidden': 'true' }, bar)
}
