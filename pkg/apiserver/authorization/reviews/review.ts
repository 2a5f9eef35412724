import type { JsonObject } from '#pkg/apimachinery/index';
import {
  restrictionKey,
  withToldRestriction,
  type Authorizer,
  type TokenAuthenticator,
  type UserInfo,
} from '#pkg/identity/index';
import type { RoleIndex } from '../role-index.ts';

/** What answers reviews. */
export interface ReviewParts {
  authorizer: Authorizer;
  roles: RoleIndex;
  /** Whose tokens TokenReview knows. */
  tokens: TokenAuthenticator;
}

/** One question, its types checked. */
export interface Review {
  parts: ReviewParts;
  /** Who asks. */
  user: UserInfo;
  spec: JsonObject;
  /** Of the path; '' where it has none. */
  namespace: string;
}

/** Tells the status of a review. @throws StatusError */
export type Reviewer = (review: Review) => Promise<JsonObject>;

/** A user as the API tells of one. Source: authentication.k8s.io/v1 UserInfo. */
export function userStatus({ name, uid, groups, extra = {}, restriction }: UserInfo): JsonObject {
  const all = { ...extra, ...(restriction === undefined ? {} : { [restrictionKey]: restriction.roles }) };
  const shown = Object.fromEntries(Object.entries(all).map(([key, values]) => [key, [...values]]));
  return {
    username: name,
    ...(uid === '' ? {} : { uid }),
    groups: [...groups],
    ...(Object.keys(shown).length === 0 ? {} : { extra: shown }),
  };
}

/** The way back, of what a SubjectAccessReview says of a user. */
export function reviewedUser({
  user = '',
  uid = '',
  groups = [],
  extra = {},
}: {
  user?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}): UserInfo {
  return withToldRestriction({ name: user, uid, groups, extra });
}
