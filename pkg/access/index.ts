/**
 * Access management: users and their credentials. Users, organizations, roles and credentials are rows in schema
 * `access`, never objects of the generic API. AccessService is all of it; AccessServer serves its HTTP API and pages;
 * the content platform authenticates the same users with `platformAuthenticator`.
 */
export { accessMigrations } from './migrations.ts';
export { AccessDatabase } from './access-database.ts';
export { accessPrefixes, accessPrefixOf } from './access-paths.ts';
export { AccessServer } from './access-server.ts';
export { AccessService, type AccessSettings } from './access-service.ts';
export { adminUsername, ensureAdministrator } from './administrator/ensure-administrator.ts';
export { readSecretFile, writeSecretFile } from './administrator/secret-file.ts';
export { InitialPasswordError } from './administrator/initial-password.ts';
export { Audit } from './audit/audit.ts';
export { LoginAccounts } from './login/login-accounts.ts';
export { accountKey, LoginFailures } from './login/login-failures.ts';
export { platformCredentialKeyOf } from './http/credential-key.ts';
export type { Namespaces } from './orgs/namespaces.ts';
export { namespaceOf } from './orgs/organization.ts';
export { maxLoginAttempts } from './login/attempt-queue.ts';
export { PasswordHasher } from './login/password-hasher.ts';
export { PersonalTokenAuthenticator } from './tokens/personal-token-authenticator.ts';
export type { TokenRoles } from './tokens/personal-tokens.ts';
export { TokenStore } from './tokens/token-store.ts';
export { TokenUses } from './tokens/token-uses.ts';
export { revokeTokens } from './tokens/revoke-tokens.ts';
export { PrivateTokenError } from './tokens/private-token-error.ts';
export { PrivateTokens } from './tokens/private-tokens.ts';
export { serviceUsers, type Service } from './principals/service-user.ts';
export { ServiceTokenError } from './services/service-token-error.ts';
export { ServiceTokens } from './services/service-tokens.ts';
export { KeyRing } from './secrets/key-ring.ts';
export { ObjectSealer } from './secrets/object-sealer.ts';
export { openKeyRing } from './secrets/open-key-ring.ts';
export { rotateKeys, type ResealedObjects, type RotationResult, type SealedObjects } from './secrets/rotate-keys.ts';
export { SecretBox } from './secrets/secret-box.ts';
export { SecretError, SecretKeyError } from './secrets/secret-error.ts';
export { SecretKey } from './secrets/secret-key.ts';
export { fold } from './names/fold-case.ts';
export type { BindingSubjectCheck } from './users/user-parts.ts';
