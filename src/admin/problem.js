/**
 * Every error of the admin interface as problem details (RFC 9457): what went wrong in general, and what may be told of
 * this case. Nothing of a request is repeated, and `detail` of a MailError is not told: it is meant for the log.
 */
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { MailError } from '../errors.js'

/** @import { FastifyError, FastifyReply, FastifyRequest } from 'fastify' */
/** @import { ErrorCode } from '../errors.js' */

export const PROBLEM_TYPE = 'application/problem+json'

/** Statuses of our own errors; all others are temporary, or a fault of the server. */
const STATUS = /** @satisfies {Partial<Record<ErrorCode, number>>} */ ({
  ACCOUNT_NOT_FOUND: 404,
  CREDENTIAL_NOT_FOUND: 404,
  TENANT_NOT_FOUND: 404,
  ACCOUNT_EXISTS: 409,
  TENANT_EXISTS: 409,
  TENANT_IN_USE: 409,
  ADDRESS_INVALID: 422,
  PASSWORD_REFUSED: 422,
  LABEL_REFUSED: 422,
  LIMIT: 409,
  THROTTLED: 429,
  DISK_FULL: 507
})

/**
 * @typedef {object} Problem
 * @property {string} type - a URN of ours, or about:blank where the status alone says what is wrong
 * @property {string} title
 * @property {number} status
 * @property {string} [detail]
 * @property {string} [code] - of src/errors.js
 * @property {string} [reference] - by which the log has the error
 * @property {{ path: string, message: string }[]} [errors] - of a request that does not fit the schema
 */

/** A refusal that has no code of its own: 401, 403, 404 and the like. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} detail - told to the client
   * @param {Record<string, string>} [headers]
   */
  constructor(status, detail, headers = {}) {
    super(detail)
    this.name = 'Refusal'
    this.status = status
    this.headers = headers
  }
}

/**
 * @param {number} status
 * @param {string} [detail]
 * @returns {Problem}
 */
export function plainProblem(status, detail) {
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    ...(detail !== undefined && { detail })
  }
}

/**
 * @param {MailError} error
 * @param {number} status
 * @returns {Problem}
 */
function mailProblem({ code, message }, status) {
  return {
    type: `urn:letterlock:problem:${code.toLowerCase().replaceAll('_', '-')}`,
    title: message,
    status,
    code
  }
}

/**
 * @param {FastifyError} error
 * @returns {Problem}
 */
function validationProblem(error) {
  return {
    ...plainProblem(400, `The request’s ${error.validationContext ?? 'content'} is not valid`),
    errors: (error.validation ?? []).map(({ instancePath, message }) => ({
      path: instancePath,
      message: message ?? 'is not valid'
    }))
  }
}

/**
 * @param {unknown} error
 * @returns {Problem | null} null for what nobody expected
 */
function knownProblem(error) {
  if (error instanceof Refusal) return plainProblem(error.status, error.message)
  if (error instanceof MailError) {
    const known = /** @type {Partial<Record<ErrorCode, number>>} */ (STATUS)[error.code]
    const status = known ?? (error.temporary ? 503 : null)
    return status === null ? null : mailProblem(error, status)
  }
  const { validation, statusCode = 500 } = /** @type {FastifyError} */ (error)
  if (validation) return validationProblem(/** @type {FastifyError} */ (error))
  // Fastify's own: a body that is no JSON or too large, an unknown media type.
  if (error instanceof Error && statusCode >= 400 && statusCode < 500) {
    return plainProblem(statusCode)
  }
  return null
}

/**
 * @param {FastifyReply} reply
 * @param {Problem} problem
 * @param {Record<string, string>} [headers]
 */
export function sendProblem(reply, problem, headers = {}) {
  return reply
    .code(problem.status)
    .headers(headers)
    .type(PROBLEM_TYPE)
    .serializer(JSON.stringify)
    .send(problem)
}

/**
 * @param {import('../telemetry/logger.js').Logger} logger
 * @returns {(error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply}
 */
export function createErrorHandler(logger) {
  return (error, _request, reply) => {
    const known = knownProblem(error)
    if (known !== null) {
      const headers = error instanceof Refusal ? error.headers : {}
      return sendProblem(reply, known, known.status === 503 ? { 'retry-after': '5' } : headers)
    }
    const reference = randomUUID()
    logger.error({ err: error, reference }, 'a request to the admin interface failed')
    return sendProblem(reply, {
      ...plainProblem(500, 'Something went wrong here; the log has more under the reference'),
      reference
    })
  }
}
