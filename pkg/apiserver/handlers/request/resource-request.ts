import { formatApiVersion, type GroupVersionKind, type ObjectKey } from '#pkg/apimachinery/index';
import type { Handler, RequestContext } from '#pkg/http/index';
import type { ServedResource } from '../../rest/served-resource.ts';
import type { HandlerOptions } from '../options/handler-options.ts';

/** One request to the generated API whose path names a served resource. */
export interface ResourceRequest {
  context: RequestContext;
  served: ServedResource;
  /** '' for a cluster-scoped resource, undefined for all namespaces. */
  namespace: string | undefined;
  /** The name in the path; '' on a collection. */
  name: string;
  options: HandlerOptions;
  /** Rejects when a running request would no longer be allowed. Absent where that cannot happen. */
  recheck?: Handler | undefined;
  /** Rejects if the user may not create the object that the path names. Absent where nothing is checked. */
  authorizeCreate?: Handler | undefined;
}

/** Answers one verb. */
export type VerbHandler = (request: ResourceRequest) => Promise<void>;

export function servedKind({ model, version }: ServedResource): GroupVersionKind {
  return { group: model.group, version: version.name, kind: model.names.kind };
}

export function requestedKey({ namespace, name }: ResourceRequest): ObjectKey {
  return { namespace: namespace ?? '', name };
}

/** The path of one object, for the Location header. */
export function objectLocation({ model, version, resource }: ServedResource, { namespace, name }: ObjectKey): string {
  const root = model.group === '' ? '/api' : '/apis';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${formatApiVersion({ group: model.group, version: version.name })}${scope}/${resource.resource}/${encodeURIComponent(name)}`;
}
