// What the page for users adds to fastify's objects.
import type { PageLogin } from '../src/user-page/guard.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is logged in to the page; null on routes that ask for no login. */
    pageLogin: PageLogin | null
  }
}
