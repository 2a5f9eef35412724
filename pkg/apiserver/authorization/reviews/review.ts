import type { JsonObject } from '#pkg/apimachinery/index';
import {
  restrictionKey,
  withRestrictionFromExtra,
  type Authorizer,
  type TokenAuthenticator,
  type UserInfo,
} from '#pkg/identity/index';
import type { RoleIndex } from '../role-index.ts';

/** The parts that answer reviews. */
export interface ReviewParts {
  authorizer: Authorizer;
  roles: RoleIndex;
  /** Authenticates the tokens of a TokenReview. */
  tokens: TokenAuthenticator;
}

/** One review request with checked types. */
export interface Review {
  parts: ReviewParts;
  /** The caller. */
  user: UserInfo;
  spec: JsonObject;
  /** The namespace of the path; '' if it has none. */
  namespace: string;
}

/** Computes the status of a review. @throws StatusError */
export type Reviewer = (review: Review) => Promise<JsonObject>;

/** A user as the API returns it. Source: authentication.k8s.io/v1 UserInfo. */
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

/** The inverse for the user in a SubjectAccessReview. */
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
  return withRestrictionFromExtra({ name: user, uid, groups, extra });
}
