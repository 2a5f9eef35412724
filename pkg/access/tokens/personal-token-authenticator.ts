import { newServiceUnavailable } from '#pkg/apimachinery/index';
import { failureSuffix } from '#pkg/database/index';
import {
  formatCredentialId,
  isPersonalToken,
  withCredentialId,
  type TokenAuthenticator,
  type UserInfo,
} from '#pkg/identity/index';
import { principalOf, userInfoOf } from '../principals/principals.ts';
import { FreshLookup } from '../principals/fresh-lookup.ts';
import { TokenStore, type FoundToken } from './token-store.ts';
import type { TokenUses } from './token-uses.ts';

/**
 * Authenticates personal tokens as their owner, with the owner's current roles, restricted to the token's roles. Each
 * request is answered by a lookup that began after it, so a revocation applies to the next request on every replica. A
 * token is invalid while its owner is disabled or expired. A text that is not in the form of a token costs no query.
 * Throws StatusError 503 if the database does not answer.
 */
export class PersonalTokenAuthenticator implements TokenAuthenticator {
  readonly #tokens: FreshLookup<KnownToken | undefined>;
  readonly #uses: Pick<TokenUses, 'noteUse' | 'noteFailure'>;

  constructor(tokens: Pick<TokenStore, 'findOwner'>, uses: Pick<TokenUses, 'noteUse' | 'noteFailure'>) {
    this.#tokens = new FreshLookup(async (hash) => {
      const found = await tokens.findOwner(Buffer.from(hash, 'hex'));
      return found === undefined
        ? undefined
        : { found, user: found.is_usable && found.is_valid ? userOf(found) : undefined };
    });
    this.#uses = uses;
  }

  /** `addressOf` returns the client's address, for the audit. */
  async authenticateToken(token: string, addressOf: () => string = () => ''): Promise<UserInfo | undefined> {
    if (!isPersonalToken(token)) return undefined;
    const known = await this.#find(TokenStore.hash(token).toString('hex'));
    if (known === undefined) return undefined;
    const { found, user } = known;
    if (user === undefined) this.#uses.noteFailure(found, addressOf());
    else if (found.is_stale) this.#uses.noteUse(found.token_id);
    return user;
  }

  async #find(hash: string): Promise<KnownToken | undefined> {
    try {
      return await this.#tokens.get(hash);
    } catch (error) {
      const unavailable = newServiceUnavailable(`the token cannot be checked at the moment${failureSuffix(error)}`);
      unavailable.cause = error;
      throw unavailable;
    }
  }
}

interface KnownToken {
  found: FoundToken;
  /** Undefined if the token is no longer valid. */
  user: UserInfo | undefined;
}

function userOf(found: FoundToken): UserInfo {
  const { roles, token_expires: expires } = found;
  return {
    ...withCredentialId(userInfoOf(principalOf(found)), formatCredentialId('PAT', found.token_id)),
    ...(roles === null ? {} : { restriction: { roles } }),
    ...(expires === null ? {} : { credentialExpires: new Date(expires).toISOString() }),
  };
}
