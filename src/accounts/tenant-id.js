/**
 * The ids that the admin interface and the command line take for a tenant: like domains, which have tenants of their name.
 */
export const TENANT_ID_PATTERN = '^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$'
