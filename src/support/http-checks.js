/**
 * Node looks only so often for connections that have passed their time for a head or a request, every 30 s by itself: ten
 * seconds for a head were up to forty. Milliseconds.
 */
export const CONNECTION_CHECKS_MS = 2_000
