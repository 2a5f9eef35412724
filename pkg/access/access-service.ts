import type { Logger } from 'pino';
import { failureSuffix } from '#pkg/database/index';
import {
  ServiceUrl,
  VerifiedCredentials,
  type EndpointGroup,
  type ForwardingProof,
  type HealthCheck,
  type Throttle,
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
import { AccessAuditLog } from './audit/access-audit-log.ts';
import { Audit } from './audit/audit.ts';
import { BasicAuthenticator } from './login/basic-authenticator.ts';
import { BearerTokens } from './tokens/bearer-tokens.ts';
import { credentialKeyOf } from './http/credential-key.ts';
import { ForwardingProofs } from './http/forwarding-proofs.ts';
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
import { currentSessionOperations } from './current-session-operations.ts';
import { sessionOperations } from './sessions/session-operations.ts';
import { Sessions } from './sessions/sessions.ts';
import { SharedThrottle } from './http/shared-throttle.ts';
import { OwnProfile } from './users/own-profile.ts';
import { userOperations } from './users/user-operations.ts';
import type { BindingSubjectCheck } from './users/user-parts.ts';
import { Users } from './users/users.ts';

export interface AccessSettings {
  /** Lifetime of a Bearer token. */
  tokenTtlMs: number;
  /** Idle time after which a session ends. */
  sessionIdleMs: number;
  /** Maximum failed logins of one address in half an hour. */
  loginIpLimit: number;
  /** Maximum logins in progress, of all addresses. */
  maxLogins: number;
  /** Maximum clock skew of a signed request; 0: any date. */
  signatureSkewMs: number;
  /** Must signed requests that write also sign a digest of their body? */
  signatureRequiresDigest: boolean;
  /** Maximum requests per minute. */
  throttle: { anonymous: number; user: number };
  auditRetentionDays: number;
  /** Connections for looking up tokens. Default 4. */
  tokenConnections?: number | undefined;
  /** Processes that share the limits of this server, where `maxLogins` is that of one. Default 1. */
  processes?: number | undefined;
  /** Public URL of access management. Undefined: from the headers of clients and trusted proxies. */
  publicUrl: string | undefined;
  /** Other origins whose pages may read answers, act for their visitor, and be where a login continues. */
  allowedOrigins: readonly string[];
}

export interface AccessServiceOptions {
  /** Schema `access` must be up to date. The caller closes it. */
  database: AccessDatabase;
  log: Logger;
  svcVersion: string;
  settings: AccessSettings;
  /** The keys must fit the database. */
  keys: KeyRing;
  proxies: TrustedProxies;
  /**
   * Parts of the content platform: namespaces of organizations, roles of personal tokens, and a check whether a binding
   * names a user.
   */
  platform: { namespaces: Namespaces; roles: TokenRoles; isNamedByBinding: BindingSubjectCheck };
}

/** All of access management. Its own server uses it, and the content platform, which has the same users. */
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
  /** Shared by both services: a login at one is valid at the other at once. */
  readonly verified = new VerifiedCredentials();
  /** For AccessServer. */
  readonly parts: AccessParts;
  /** Proves to another server with the same key how a client has reached this one. */
  readonly forwardingProof: ForwardingProof;
  /** Its audit in the form of the content platform's. */
  readonly auditLog: AccessAuditLog;

  constructor(options: AccessServiceOptions) {
    const { database, log, settings, keys, proxies, platform, svcVersion } = options;
    this.#options = options;
    const { processes = 1, tokenConnections } = settings;
    const audit = new Audit(database, { processes });
    const hasher = new PasswordHasher({ processes });
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
    this.forwardingProof = new ForwardingProofs(secrets);
    this.auditLog = new AccessAuditLog(database.pool);
    this.#sessions = new Sessions({ database, idleSeconds: settings.sessionIdleMs / 1000, onIssue });
    this.#login = new LoginService({
      database,
      audit,
      hasher,
      addressLimit: settings.loginIpLimit,
      maxAttempts: settings.maxLogins,
      processes,
    });
    this.#tokenStore = new TokenStore(
      database.database,
      tokenConnections === undefined ? {} : { poolSize: tokenConnections },
    );
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
      ...userOperations({
        ...profileParts,
        organizations,
        isNamedByBinding: platform.isNamedByBinding,
        names: this.#names,
      }),
      ...orgOperations({ database, audit, organizations, names: this.#names, namespaces: this.#orgNamespaces }),
      ...roleOperations({ database, audit, users, organizations }),
      ...accessKeyOperations(accessKeys),
      ...sessionOperations({ database, audit, sessions }),
      ...currentSessionOperations({ database, audit, sessions, login, users }),
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
          allowedOrigins: settings.allowedOrigins,
        }),
      ],
      throttle: new SharedThrottle({
        database,
        log,
        anonymous: settings.throttle.anonymous,
        user: settings.throttle.user,
      }),
      verified: this.verified,
      forwardingProof: this.forwardingProof,
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
        throw new Error(`no answer${failureSuffix(error)}`, { cause: error });
      }
    };
    return { name: 'access database', check };
  }

  /** Finds the owner of a personal token, for components that authenticate other clients. */
  get platformTokens(): PersonalTokenAuthenticator {
    return new PersonalTokenAuthenticator(this.#tokenStore, this.#tokenUses);
  }

  /** Authenticates requests to the content platform: by personal token, session, and, if enabled, password. */
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

  /** Limits the requests of each user to the content platform, apart from those to this service. */
  platformThrottle(requestsPerMinute: number): Throttle {
    const throttle = new SharedThrottle({ database: this.#database, log: this.#options.log, user: requestsPerMinute });
    return { take: (key) => throttle.take(`platform/${key}`) };
  }

  /** The content platform's endpoints for personal tokens, and their part of its API reference. */
  get personalTokenEndpoints(): { endpoints: EndpointGroup; documents: readonly [typeof personalTokenDocument] } {
    return {
      endpoints: personalTokenEndpoints({ tokens: this.#personalTokens, proxies: this.#options.proxies }),
      documents: [personalTokenDocument],
    };
  }

  /**
   * Starts the background work: namespaces of organizations, deletion of expired rows, and claims of existing names.
   */
  start(): void {
    this.#orgNamespaces.start();
    // A failure is only logged: a request that creates a name waits for this work and retries it.
    this.#names
      .prepare()
      .catch((error: unknown) =>
        this.#options.log.warn(
          { err: error },
          'could not compare names; retrying when a name is created and in the next round',
        ),
      );
    this.#maintenance.start();
  }

  /** Resolves when all work has ended. */
  async stop(): Promise<void> {
    await Promise.all([
      this.#orgNamespaces.stop(),
      this.#maintenance.stop(),
      this.#names.stop(),
      this.#tokenUses.stop(),
    ]);
    await this.#tokenStore.close();
  }
}

export interface PlatformAuthenticatorOptions {
  /** Is `Authorization: Basic` accepted? */
  basic: boolean;
  /** Public URL of the content platform. */
  publicUrl: string | undefined;
  /** Wraps the store to count lookups. Default: not counted. */
  countLookups?: (tokens: Pick<TokenStore, 'findOwner'>) => Pick<TokenStore, 'findOwner'>;
}
