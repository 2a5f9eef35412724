import { checkNamespaceName, collectionPath, newUnknownPath, type ResourceType } from '#pkg/apimachinery/index';
import { parseRequestInfo, type RequestBytes, type RequestContext, type RequestInfo } from '#pkg/http/index';
import type { StreamRequest, Subscription } from './read-stream.ts';

/** A subscription as the request that would watch the same: `GET <path>?watch=true`. */
export interface SubscriptionTarget {
  info: RequestInfo;
  query: URLSearchParams;
  /** As the audit shows it. */
  uri: string;
}

/** @throws StatusError 400 or 404 for names that no path can have */
export function targetOf(
  { group = '', version, resource, namespace = '', labelSelector, fieldSelector, initialEvents }: Subscription,
  since: StreamRequest['since'],
): SubscriptionTarget {
  checkNamespaceName(namespace);
  const path = collectionPath({ group, version, plural: resource } as ResourceType, namespace);
  const query = new URLSearchParams({ watch: 'true', allowWatchBookmarks: 'true' });
  if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
  if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
  if (since !== undefined) query.set('resourceVersion', since);
  const isFromNow = since === undefined || Number(since) === 0;
  if (initialEvents !== undefined || isFromNow) {
    query.set('sendInitialEvents', String(initialEvents ?? true));
    query.set('resourceVersionMatch', 'NotOlderThan');
  }
  const info = parseRequestInfo('GET', path, query);
  // Some names are part of another path: `status` in a namespace, for example.
  if (info.verb !== 'watch' || info.resource !== resource || info.namespace !== namespace) throw newUnknownPath();
  return { info, query, uri: `${path}?${query.toString()}` };
}

/** The context of the watch within that of its stream: of the same user and client, with memory of its own. */
export function subscriptionContext(
  stream: RequestContext,
  { info, query }: SubscriptionTarget,
  bytes: RequestBytes,
): RequestContext {
  // The signal must be that of the stream, which creates it at its first use.
  const own = { info, query, bytes, signal: stream.signal, warnings: [], waitedMs: 0, audit: undefined };
  const descriptors = Object.entries(own).map(([name, value]): [string, PropertyDescriptor] => [
    name,
    { value, writable: true },
  ]);
  return Object.create(stream, Object.fromEntries(descriptors)) as RequestContext;
}
