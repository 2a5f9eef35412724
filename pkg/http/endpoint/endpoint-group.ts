import type { Router } from 'express';
import type { RequestInfo } from '../request/request-info.ts';

/** The interface through which other packages and plugins serve their own paths. */
export interface EndpointGroup {
  /**
   * `/livez`, `/apis/api.blog.example.com/v1`: no trailing slash. The group owns this path and all paths below, unless
   * `owns` says otherwise.
   */
  readonly prefix: string;
  /**
   * Which decoded paths under the prefix it owns; called several times per request. Default: all. Any other path is
   * served as if the group did not exist, so it is never open because of the group.
   */
  readonly owns?: (path: string) => boolean;
  /** Paths in it are relative to the prefix. */
  readonly router: Router;
  /** Served without authentication and permission; default false. */
  readonly isOpen?: boolean;
  /**
   * Exempt from the in-flight limits: the group authenticates the caller before it reads a body, and its requests were
   * counted elsewhere. Default false.
   */
  readonly isUnlimited?: boolean;
}

/**
 * The group that owns a decoded path; of several, the one with the longest prefix. Compares whole segments,
 * case-sensitively.
 */
export function findEndpointGroup(groups: Iterable<EndpointGroup>, path: string): EndpointGroup | undefined {
  let found: EndpointGroup | undefined;
  for (const group of groups) {
    const { prefix } = group;
    const isBelow = path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === 47);
    if (isBelow && (found === undefined || prefix.length > found.prefix.length) && group.owns?.(path) !== false)
      found = group;
  }
  return found;
}

/**
 * The group that owns the path of a request. A path that nobody owns is looked up once a request; a group is looked up
 * each time, for it may be gone by then.
 */
export function endpointGroupOf(groups: Iterable<EndpointGroup>, info: RequestInfo): EndpointGroup | undefined {
  if (info.isUnowned === true) return undefined;
  const found = findEndpointGroup(groups, info.path);
  info.isUnowned = found === undefined;
  return found;
}

/**
 * For `withAuthentication` and `withAuthorization`: is the path served by an open group? It asks who serves the path,
 * not what the path looks like; so the dispatcher must give an owned path to its group, and to nobody else.
 */
export function isOpenEndpoint(groups: Iterable<EndpointGroup>): (info: RequestInfo) => boolean {
  return (info) => endpointGroupOf(groups, info)?.isOpen === true;
}
