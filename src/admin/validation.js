/**
 * Checks requests against their schemas. A body has JSON's own types, and nothing in it is taken for something else; a query
 * or a path has only text, of which whole numbers are read where the schema wants one. (Ajv's own coercion reads `1e999`
 * as infinity, and lets it pass every maximum.)
 */
import { Ajv } from 'ajv'

const ajv = new Ajv({ useDefaults: true, allErrors: false, validateFormats: false })

/**
 * Compiles a schema at the first request: to compile those of all routes would be a good part of a worker's start, and few
 * requests ever reach it.
 *
 * @param {object} schema
 * @returns {import('ajv').ValidateFunction}
 */
function compiledLater(schema) {
  /** @type {import('ajv').ValidateFunction | null} */
  let compiled = null
  const check = (/** @type {unknown} */ data) => {
    compiled ??= ajv.compile(schema)
    const isValid = compiled(data)
    check.errors = compiled.errors
    return isValid
  }
  /** @type {import('ajv').ValidateFunction['errors']} */
  check.errors = null
  return /** @type {any} */ (check)
}

/** Digits enough for 2^53. */
const WHOLE_NUMBER = /^-?\d{1,16}$/

/**
 * @param {{ schema: any, httpPart?: string }} route
 * @returns {import('ajv').ValidateFunction | ((data: any) => boolean)} as fastify wants it
 */
export function compileValidator({ schema, httpPart }) {
  const check = compiledLater(schema)
  if (httpPart === 'body') return check
  const numbers = Object.entries(schema.properties ?? {})
    .filter(([, { type }]) => type === 'integer')
    .map(([name]) => name)
  const checkText = (/** @type {Record<string, unknown>} */ data) => {
    for (const name of numbers) {
      const text = data[name]
      if (typeof text === 'string' && WHOLE_NUMBER.test(text)) data[name] = Number(text)
    }
    const isValid = check(data)
    checkText.errors = check.errors
    return isValid
  }
  /** @type {import('ajv').ValidateFunction['errors']} */
  checkText.errors = null
  return checkText
}
