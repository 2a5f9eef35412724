import { newServiceUnavailable } from '#pkg/apimachinery/index';
import { isPersonalToken, systemAuthenticated, systemMasters, type TokenAuthenticator, type UserInfo } from '#pkg/identity/index';
import { adminUsername } from './ensure-admin-token.ts';
import { FreshLookup } from './fresh-lookup.ts';
import { TokenStore } from './token-store.ts';

/**
 * Knows personal tokens. Each request is answered by a lookup that began after it, so a revocation acts on the next request of every replica.
 * Text that is not in a token's form costs no query. Throws StatusError 503 where the database does not answer.
 */
export class PersonalTokenAuthenticator implements TokenAuthenticator {
  private readonly owners: FreshLookup<string | undefined>;

  constructor(tokens: Pick<TokenStore, 'findOwner'>) {
    this.owners = new FreshLookup((hash) => tokens.findOwner(Buffer.from(hash, 'hex')));
  }

  async authenticateToken(token: string): Promise<UserInfo | undefined> {
    if (!isPersonalToken(token)) return undefined;
    const name = await this.findOwner(TokenStore.hash(token).toString('hex'));
    if (name === undefined) return undefined;
    return { name, uid: '', groups: name === adminUsername ? [systemMasters, systemAuthenticated] : [systemAuthenticated] };
  }

  private async findOwner(hash: string): Promise<string | undefined> {
    try {
      return await this.owners.get(hash);
    } catch (error) {
      const unavailable = newServiceUnavailable('the token cannot be checked at the moment');
      unavailable.cause = error;
      throw unavailable;
    }
  }
}
