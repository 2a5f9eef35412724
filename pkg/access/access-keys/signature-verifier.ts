import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { PreparedStatement, type Placeholders } from '#pkg/database/index';
import { formatCredentialId } from '#pkg/identity/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Audit } from '../audit/audit.ts';
import { newAuthenticationFailed } from '../http/access-error.ts';
import type { AccessRequest } from '../http/access-request.ts';
import type { CredentialProof } from '../http/credential.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import { sealedTables } from '../secrets/sealed-tables.ts';
import { isBodyOf } from './body-digest.ts';
import { isSignedWith, isTimely, unreadableClaim, type SignatureClaim } from './signature-claim.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';
import { allowsAddress, anyAddress } from './ip-group.ts';
import { SignatureUses } from './signature-uses.ts';

export interface SignatureVerifierOptions {
  database: AccessDatabase;
  secrets: SecretBox;
  audit: Audit;
  log: Logger;
  /** Maximum difference between its date and now; 0: any date. Default 5 minutes. */
  maxSkewMs?: number;
  /** Must POST, PUT, PATCH and DELETE requests sign a digest of their body? Default false. */
  requiresDigest?: boolean;
}

const isUseStale = sql<boolean>`coalesce(date_last_used < now() - interval '1 minute', true)`;

const findKey = new PreparedStatement('access-key-of-signature', ($: Placeholders<{ id: string }>) =>
  accessQuery
    .selectFrom('access.access_keys')
    .select(['user_id', 'secret', 'ip_group', 'is_active', isUseStale.as('is_use_stale')])
    .where('id', '=', $.id),
);

/** At most once a minute; does not wait for another request that updates the row. */
const noteUse = new PreparedStatement('access-key-use', ($: Placeholders<{ id: string }>) =>
  accessQuery
    .with('stale', (db) =>
      db
        .selectFrom('access.access_keys')
        .select('id')
        .where('id', '=', $.id)
        .where(isUseStale)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .updateTable('access.access_keys as k')
    .from('stale')
    .set({ date_last_used: currentTime })
    .whereRef('k.id', '=', 'stale.id'),
);

interface KeyRow {
  user_id: string;
  secret: Buffer;
  ip_group: string[];
  is_active: boolean;
  is_use_stale: boolean;
}

/** Recorded in the audit only; the client never sees it. */
type Problem =
  | 'it cannot be read'
  | 'there is no such key'
  | 'wrong signature'
  | 'the key is disabled'
  | 'its date is too far from now'
  | 'address not allowed'
  | 'no digest of its body is signed'
  | 'the digest is not of the body'
  | 'it was used before';

const writingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Identifies the owner of the access key that signed a request. A failure costs and answers the same whether or not the
 * key exists: one lookup, one opened secret, one HMAC, one audit row, one 401. All other checks run only for a correct
 * signature.
 */
export class SignatureVerifier {
  readonly #database: AccessDatabase;
  readonly #secrets: SecretBox;
  readonly #audit: Audit;
  readonly #log: Logger;
  readonly #maxSkewMs: number;
  readonly #requiresDigest: boolean;
  readonly #uses: SignatureUses;
  readonly #keys = new FreshLookup<KeyRow | undefined>((id) => this.#lookUp(id));
  #decoy: { id: string; secret: Buffer } | undefined;

  constructor({
    database,
    secrets,
    audit,
    log,
    maxSkewMs = 300_000,
    requiresDigest = false,
  }: SignatureVerifierOptions) {
    this.#database = database;
    this.#secrets = secrets;
    this.#audit = audit;
    this.#log = log;
    this.#maxSkewMs = maxSkewMs;
    this.#requiresDigest = requiresDigest;
    this.#uses = new SignatureUses(database);
  }

  /** Identifies the key's owner, valid or not. `claim` is undefined if it could not be parsed. Throws 401. */
  async verify(claim: SignatureClaim | undefined, request: AccessRequest): Promise<CredentialProof> {
    const { keyId } = claim ?? unreadableClaim;
    const key = await this.#keys.get(keyId);
    const problem = await this.#problemOf(claim, key, request);
    if (problem === undefined && key !== undefined) {
      if (key.is_use_stale) await noteUse.run(this.#database.pool, { id: keyId });
      return {
        userId: key.user_id,
        credentialId: formatCredentialId('ACCESSKEY', keyId),
        isAddressLimited: !key.ip_group.includes(anyAddress),
      };
    }
    await this.#audit.recordOperation({
      actor: undefined,
      action: 'failed_use',
      resourceType: 'access_key',
      resource: claim?.keyId ?? '',
      detail: problem ?? '',
      address: request.address,
      requestId: request.context.id,
    });
    throw newAuthenticationFailed();
  }

  async #problemOf(
    claim: SignatureClaim | undefined,
    key: KeyRow | undefined,
    request: AccessRequest,
  ): Promise<Problem | undefined> {
    const isSigned = isSignedWith(claim ?? unreadableClaim, this.#secretOf(claim, key));
    if (claim === undefined) return 'it cannot be read';
    if (key === undefined) return 'there is no such key';
    if (!isSigned) return 'wrong signature';
    if (!key.is_active) return 'the key is disabled';
    const window = { now: Date.now(), maxSkewMs: this.#maxSkewMs };
    if (!isTimely(claim, window)) return 'its date is too far from now';
    if (!allowsAddress(key.ip_group, request.address)) return 'address not allowed';
    if (this.#requiresDigest && claim.digests.length === 0 && writingMethods.has(request.method))
      return 'no digest of its body is signed';
    if (claim.digests.length > 0 && !isBodyOf(claim.digests, await request.body()))
      return 'the digest is not of the body';
    if (claim.isSingleUse && !(await this.#uses.use(claim, window))) return 'it was used before';
    return undefined;
  }

  /** A random secret if there is no key, or its secret cannot be opened. */
  #secretOf(claim: SignatureClaim | undefined, key: KeyRow | undefined): string {
    if (claim === undefined || key === undefined) return this.#openDecoy();
    try {
      return this.#secrets.open(key.secret, sealedTables.accessKeys.purposeOf(claim.keyId));
    } catch (error) {
      this.#log.error(
        { err: error, accessKey: claim.keyId },
        'could not open the sealed secret of an access key; check that all keys are in svc.security.key or the key file',
      );
      return randomUUID();
    }
  }

  #openDecoy(): string {
    try {
      this.#decoy ??= this.#newDecoy();
      return this.#secrets.open(this.#decoy.secret, sealedTables.accessKeys.purposeOf(this.#decoy.id));
    } catch {
      // The key that sealed it may have been dropped, or this replica has no key, which is permitted.
      this.#decoy = undefined;
      return randomUUID();
    }
  }

  #newDecoy(): { id: string; secret: Buffer } {
    const id = randomUUID();
    return { id, secret: this.#secrets.seal(randomUUID(), sealedTables.accessKeys.purposeOf(id)) };
  }

  async #lookUp(id: string): Promise<KeyRow | undefined> {
    const { rows } = await findKey.run(this.#database.pool, { id });
    return rows[0];
  }
}
