/**
 * Node looks this often, ms, for connections that have passed their time for a head or a request. Its default is 30 s: with that,
 * ten seconds for a head were up to forty.
 */
export const CONNECTION_CHECKS_MS = 2_000
