/**
 * Access management: who may come in, and with which credential. Credentials are rows in schema `access`, never objects of the generic API,
 * and only their hashes are kept. Its door to the content platform is the TokenAuthenticator.
 */
export { accessMigrations } from './migrations.ts';
export { adminUsername, ensureAdminToken, type AdminTokenOptions, type AdminTokenOutcome } from './tokens/ensure-admin-token.ts';
export { PersonalTokenAuthenticator } from './tokens/personal-token-authenticator.ts';
export { TokenStore } from './tokens/token-store.ts';
