// What the admin interface adds to fastify's objects.
import type { ApiToken } from '../src/accounts/directory-port.js'
import type { RouteAccess } from '../src/admin/access.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The bearer token of the request; null on routes that ask for none. */
    token: ApiToken | null
    /** What the audit log says of a change besides the route. */
    auditAccountId: string | null
  }
  interface FastifyContextConfig {
    access?: RouteAccess
  }
}
