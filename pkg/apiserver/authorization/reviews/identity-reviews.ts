import { isStatusError, newBadRequest } from '#pkg/apimachinery/index';
import type { TokenAuthenticator, UserInfo } from '#pkg/identity/index';
import { userStatus, type Reviewer } from './review.ts';

/** The caller's own user. */
export const reviewOneself: Reviewer = async ({ user }) => ({ userInfo: userStatus(user) });

/** The user of a token. */
export const reviewToken: Reviewer = async ({ parts, spec: { token = '' } }) => {
  if (typeof token !== 'string' || token === '')
    throw newBadRequest('token is required for TokenReview in authentication');
  const user = await ownerOf(parts.tokens, token);
  return user === undefined ? { authenticated: false } : { authenticated: true, user: userStatus(user) };
};

async function ownerOf(tokens: TokenAuthenticator, token: string): Promise<UserInfo | undefined> {
  try {
    return await tokens.authenticateToken(token);
  } catch (error) {
    if (isStatusError(error, 'Unauthorized')) return undefined;
    throw error;
  }
}
