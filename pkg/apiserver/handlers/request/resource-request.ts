import { formatApiVersion, type GroupVersionKind, type ObjectKey } from '#pkg/apimachinery/index';
import type { Handler, RequestContext } from '#pkg/http/index';
import type { ServedResource } from '../../rest/served-resource.ts';
import type { HandlerOptions } from '../options/handler-options.ts';

/** One request to the generated API, after its path was found to lead somewhere. */
export interface ResourceRequest {
  context: RequestContext;
  served: ServedResource;
  /** '' for a cluster-scoped resource, undefined for all namespaces. */
  namespace: string | undefined;
  /** Of the path; '' on a collection. */
  name: string;
  options: HandlerOptions;
  /** Rejects where a request that is still being answered would be refused by now. Absent where that is never so. */
  recheck?: Handler | undefined;
}

/** Answers one verb. */
export type VerbHandler = (request: ResourceRequest) => Promise<void>;

export function servedKind({ model, version }: ServedResource): GroupVersionKind {
  return { group: model.group, version: version.name, kind: model.names.kind };
}

export function requestedKey({ namespace, name }: ResourceRequest): ObjectKey {
  return { namespace: namespace ?? '', name };
}

/** The path of one object, as the Location header names it. */
export function objectLocation({ model, version, resource }: ServedResource, { namespace, name }: ObjectKey): string {
  const root = model.group === '' ? '/api' : '/apis';
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}/${formatApiVersion({ group: model.group, version: version.name })}${scope}/${resource.resource}/${encodeURIComponent(name)}`;
}
