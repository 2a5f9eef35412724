import type { Logger } from 'pino';
import { becauseOf } from '#pkg/database/index';
import {
  ServiceUrl,
  VerifiedCredentials,
  type EndpointGroup,
  type HealthCheck,
  type TrustedProxies,
} from '#pkg/http/index';
import type { RequestAuthenticator } from '#pkg/identity/index';
import type { AccessDatabase } from './access-database.ts';
import type { AccessParts } from './access-server.ts';
import { accessKeyOperations } from './access-keys/access-key-operations.ts';
import { AccessKeys } from './access-keys/access-keys.ts';
import { signatureCredentials } from './access-keys/signature-credentials.ts';
import { SignatureVerifier } from './access-keys/signature-verifier.ts';
import { auditOperations } from './audit-operations.ts';
import { Audit } from './audit/audit.ts';
import { BasicAuthenticator } from './login/basic-authenticator.ts';
import { BearerTokens } from './tokens/bearer-tokens.ts';
import { credentialKeyOf } from './http/credential-key.ts';
import type { OnIssue } from './http/issued-credential.ts';
import type { Operation } from './operations/operation.ts';
import { loginOperations } from './login-operations.ts';
import { LoginService } from './login/login-service.ts';
import { AccessMaintenance } from './access-maintenance.ts';
import { referenceOperations } from './openapi/reference-operations.ts';
import { NameClaims } from './names/name-claims.ts';
import type { Namespaces } from './orgs/namespaces.ts';
import { orgOperations } from './orgs/org-operations.ts';
import { OrgNamespaces } from './orgs/org-namespaces.ts';
import { Organizations } from './orgs/organizations.ts';
import { pageOperations } from './pages/page-operations.ts';
import { PasswordHasher } from './login/password-hasher.ts';
import { PersonalTokenAuthenticator } from './tokens/personal-token-authenticator.ts';
import { PersonalTokens, type TokenRoles } from './tokens/personal-tokens.ts';
import { platformAuthenticator } from './tokens/platform-authenticator.ts';
import { personalTokenDocument } from './tokens/token-document.ts';
import { personalTokenEndpoints } from './tokens/token-endpoints.ts';
import { TokenStore } from './tokens/token-store.ts';
import { TokenUses } from './tokens/token-uses.ts';
import { Principals } from './principals/principals.ts';
import { privateTokenCredential } from './tokens/private-token-credential.ts';
import { PrivateTokens } from './tokens/private-tokens.ts';
import { roleOperations } from './roles/role-operations.ts';
import type { KeyRing } from './secrets/key-ring.ts';
import { SecretBox } from './secrets/secret-box.ts';
import { sessionAuthenticator } from './sessions/session-authenticator.ts';
import { sessionOperations } from './sessions/session-operations.ts';
import { Sessions } from './sessions/sessions.ts';
import { SharedThrottle } from './http/shared-throttle.ts';
import { OwnProfile } from './users/own-profile.ts';
import { userOperations } from './users/user-operations.ts';
import type { SubjectCheck } from './users/user-parts.ts';
import { Users } from './users/users.ts';

export interface AccessSettings {
  /** Of a Bearer token. */
  tokenTtlMs: number;
  /** Without a request, until a session ends. */
  sessionIdleMs: number;
  /** Failed logins of one address in half an hour. */
  loginIpLimit: number;
  /** Of the date of a signed request; 0: any. */
  signatureSkewMs: number;
  /** Must a signed request that writes sign a digest of its body? */
  signatureRequiresDigest: boolean;
  /** Requests a minute. */
  throttle: { anonymous: number; user: number };
  auditRetentionDays: number;
  /** By which clients know access management. Undefined: what they send, and trusted proxies. */
  publicUrl: string | undefined;
  /** Pages elsewhere that may act for their visitor. */
  allowedOrigins: readonly string[];
}

export interface AccessServiceOptions {
  /** Schema `access` is up to date; it stays its owner's to close. */
  database: AccessDatabase;
  log: Logger;
  svcVersion: string;
  settings: AccessSettings;
  /** Fits the database. */
  keys: KeyRing;
  proxies: TrustedProxies;
  /**
   * The content platform's, where organizations have their namespaces, personal tokens their roles, and names may be
   * bound to rights.
   */
  platform: { namespaces: Namespaces; roles: TokenRoles; isSubject: SubjectCheck };
}

/**
 * Everything that access management does, whoever serves it: its own server, and the content platform, which knows the
 * same people.
 */
export class AccessService {
  readonly #options: AccessServiceOptions;
  readonly #database: AccessDatabase;
  readonly #sessions: Sessions;
  readonly #login: LoginService;
  readonly #tokenStore: TokenStore;
  readonly #tokenUses: TokenUses;
  readonly #personalTokens: PersonalTokens;
  readonly #orgNamespaces: OrgNamespaces;
  readonly #names: NameClaims;
  readonly #maintenance: AccessMaintenance;
  /** Of both services: who logs in at one is known to the other at once. */
  readonly verified = new VerifiedCredentials();
  /** For AccessServer. */
  readonly parts: AccessParts;

  constructor(options: AccessServiceOptions) {
    const { database, log, settings, keys, proxies, platform, svcVersion } = options;
    this.#options = options;
    const audit = new Audit(database);
    const hasher = new PasswordHasher();
    const secrets = new SecretBox(keys);
    const users = new Users(database);
    const organizations = new Organizations(database);
    const onIssue: OnIssue = (headers, userId) => this.verified.add(credentialKeyOf(headers)!.key, userId);
    const bearerTokens = new BearerTokens({ database, audit, ttlSeconds: settings.tokenTtlMs / 1000, onIssue });
    const accessKeys = new AccessKeys({ database, secrets, audit });
    const privateTokens = new PrivateTokens({ database, box: secrets, audit });
    const verifier = new SignatureVerifier({
      database,
      secrets,
      audit,
      log,
      maxSkewMs: settings.signatureSkewMs,
      requiresDigest: settings.signatureRequiresDigest,
    });
    this.#database = database;
    this.#sessions = new Sessions({ database, idleSeconds: settings.sessionIdleMs / 1000, onIssue });
    this.#login = new LoginService({ database, audit, hasher, addressLimit: settings.loginIpLimit });
    this.#tokenStore = new TokenStore(database.whole);
    this.#tokenUses = new TokenUses({ database, audit, log });
    this.#personalTokens = new PersonalTokens({ database, audit, roles: platform.roles, onIssue });
    this.#orgNamespaces = new OrgNamespaces({ database, namespaces: platform.namespaces, log });
    this.#names = new NameClaims({ database, log });
    this.#maintenance = new AccessMaintenance({
      database,
      log,
      names: this.#names,
      auditRetentionDays: settings.auditRetentionDays,
    });
    const sessions = this.#sessions;
    const login = this.#login;
    const profileParts = { database, audit, users, hasher, sessions, bearerTokens, login };
    const described: Operation[] = [
      ...loginOperations({ login, bearerTokens, users }),
      ...userOperations({ ...profileParts, organizations, isSubject: platform.isSubject, names: this.#names }),
      ...orgOperations({ database, audit, organizations, names: this.#names, namespaces: this.#orgNamespaces }),
      ...roleOperations({ database, audit, users, organizations }),
      ...accessKeyOperations(accessKeys),
      ...sessionOperations({ database, audit, sessions }),
      ...auditOperations({ database, organizations }),
    ];
    this.parts = {
      credentials: [
        ...signatureCredentials(verifier),
        privateTokenCredential({ tokens: privateTokens, audit }),
        bearerTokens.credential,
        sessions.credential,
      ],
      metricsTokens: this.platformTokens,
      principals: new Principals(database),
      operations: [
        ...described,
        ...referenceOperations(described, { svcVersion, publicUrl: settings.publicUrl }),
        ...pageOperations({
          database,
          audit,
          login,
          sessions,
          profile: new OwnProfile(profileParts),
          accessKeys,
          personalTokens: this.#personalTokens,
        }),
      ],
      throttle: new SharedThrottle({
        database,
        log,
        anonymous: settings.throttle.anonymous,
        user: settings.throttle.user,
      }),
      verified: this.verified,
      url: new ServiceUrl(proxies, settings.publicUrl),
      allowedOrigins: new Set(settings.allowedOrigins),
      readyz: [this.databaseCheck],
    };
  }

  get databaseCheck(): HealthCheck {
    const check = async (): Promise<void> => {
      try {
        await this.#database.pool.query('SELECT 1');
      } catch (error) {
        throw new Error(`no answer${becauseOf(error)}`, { cause: error });
      }
    };
    return { name: 'access database', check };
  }

  /** Whose a personal token is, for whoever asks on behalf of somebody else. */
  get platformTokens(): PersonalTokenAuthenticator {
    return new PersonalTokenAuthenticator(this.#tokenStore, this.#tokenUses);
  }

  /** Who asks on the content platform: by personal token, by session, and by password where that is switched on. */
  platformAuthenticator({
    basic,
    publicUrl,
    countLookups = (tokens) => tokens,
  }: PlatformAuthenticatorOptions): RequestAuthenticator {
    const { proxies, settings } = this.#options;
    const site = { url: new ServiceUrl(proxies, publicUrl), allowedOrigins: new Set(settings.allowedOrigins) };
    return platformAuthenticator({
      tokens: new PersonalTokenAuthenticator(countLookups(this.#tokenStore), this.#tokenUses),
      ...(basic ? { basic: new BasicAuthenticator({ database: this.#database, login: this.#login, proxies }) } : {}),
      sessions: sessionAuthenticator({ sessions: this.#sessions, ...site }),
      proxies,
    });
  }

  /** Personal tokens as the content platform serves them to their owners, and what its reference says of them. */
  get personalTokenEndpoints(): { endpoints: EndpointGroup; documents: readonly [typeof personalTokenDocument] } {
    return {
      endpoints: personalTokenEndpoints({ tokens: this.#personalTokens, proxies: this.#options.proxies }),
      documents: [personalTokenDocument],
    };
  }

  /**
   * Begins what goes on by itself: namespaces of organizations, the removal of what has expired, and the comparison of
   * names from before.
   */
  start(): void {
    this.#orgNamespaces.start();
    // Whoever makes a name waits for it, and tries again.
    this.#names
      .prepare()
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'names could not be compared; it is tried again'),
      );
    this.#maintenance.start();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    await Promise.all([
      this.#orgNamespaces.stop(),
      this.#maintenance.stop(),
      this.#names.stop(),
      this.#tokenUses.stop(),
    ]);
  }
}

export interface PlatformAuthenticatorOptions {
  /** Is `Authorization: Basic` taken? */
  basic: boolean;
  /** By which clients know the content platform. */
  publicUrl: string | undefined;
  /** Looks on. Default: nobody does. */
  countLookups?: (tokens: Pick<TokenStore, 'findOwner'>) => Pick<TokenStore, 'findOwner'>;
}
