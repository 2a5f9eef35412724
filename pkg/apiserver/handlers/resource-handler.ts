import { formatApiVersion, newBadRequest, newMethodNotAllowed, newUnknownPath } from '#pkg/apimachinery/index';
import type { Handler, RequestContext, RequestInfo } from '#pkg/http/index';
import type { ModelRegistry, ServedResource } from '../rest/served-resource.ts';
import { create } from './write/create.ts';
import { deleteCollection } from './write/delete-collection.ts';
import { remove } from './write/delete.ts';
import { get } from './read/get.ts';
import { defaultHandlerOptions, type HandlerOptions } from './options/handler-options.ts';
import { list } from './read/list.ts';
import { findResource, namespaceOf } from './request/find-resource.ts';
import { patch } from './write/patch.ts';
import type { VerbHandler } from './request/resource-request.ts';
import { getScale, patchScale, updateScale } from './write/scale.ts';
import { update } from './write/update.ts';
import { watch } from './watch/watch.ts';

export interface ResourceHandlerOptions {
  registry: ModelRegistry;
  /** Default: `defaultHandlerOptions`. */
  options?: Partial<HandlerOptions>;
  /** Called periodically for each watch. Rejects when the request would no longer be allowed. Default: no check. */
  recheck?: Handler;
  /** Rejects if the user may not create the object of a PATCH that would create it. Default: no check. */
  authorizeCreate?: Handler;
}

/**
 * Serves every registered model: `/apis/<group>/<version>/[namespaces/<namespace>/]<plural>[/<name>[/<subresource>]]`,
 * and `/api/<version>/...`. Any other path, a model or version that is not served, and a subresource that is not
 * declared are StatusError 404.
 */
export function resourceHandler({ registry, options, recheck, authorizeCreate }: ResourceHandlerOptions): Handler {
  const all = { ...defaultHandlerOptions, ...options };
  return async (context) => {
    const { info } = context;
    if (!info.isResourceRequest || info.rest.length > 0) throw newUnknownPath();
    const served = await findResource(registry, info);
    const isCollection = info.subresource === '' && (info.name === '' || info.verb === 'list' || info.verb === 'watch');
    const verbs = isCollection ? collectionVerbs(served, info) : objectVerbs(served, info.subresource);
    const namespace = await namespaceOf(registry, served, info, isCollection);
    const handle = Object.hasOwn(verbs, info.verb) ? verbs[info.verb] : undefined;
    if (handle === undefined) throw newNoSuchVerb(context, served, verbs);
    warnOfDeprecation(context, served);
    const name = isCollection ? '' : info.name;
    await handle({ context, served, namespace, name, options: all, recheck, authorizeCreate });
  };
}

type Verbs = Readonly<Record<string, VerbHandler>>;

const onCollection: Verbs = {
  list,
  watch,
  create,
  deletecollection: deleteCollection,
  update: refuseNameless,
  patch: refuseNameless,
};
/** Verbs of a namespaced model over all namespaces: only reads. */
const acrossNamespaces: Verbs = { list, watch };
const onObject: Verbs = {
  get: (request) => get(request),
  update: (request) => update(request),
  patch: (request) => patch(request),
  delete: remove,
};
const onStatus: Verbs = {
  get: (request) => get(request),
  update: (request) => update(request, 'status'),
  patch: (request) => patch(request, 'status'),
};

function collectionVerbs({ model }: ServedResource, info: RequestInfo): Verbs {
  return model.scope === 'Namespaced' && info.namespace === '' ? acrossNamespaces : onCollection;
}

function objectVerbs({ version: { subresources } }: ServedResource, subresource: string): Verbs {
  if (subresource === '') return onObject;
  if (subresource === 'status' && subresources.status) return onStatus;
  const { scale } = subresources;
  if (subresource !== 'scale' || scale === undefined) throw newUnknownPath();
  return {
    get: (request) => getScale(request, scale),
    update: (request) => updateScale(request, scale),
    patch: (request) => patchScale(request, scale),
  };
}

function newNoSuchVerb({ response, info }: RequestContext, { resource }: ServedResource, verbs: Verbs): Error {
  const methods = Object.entries(methodVerbs).filter(([, names]) =>
    names.some((name) => Object.hasOwn(verbs, name) && verbs[name] !== refuseNameless),
  );
  response.setHeader('Allow', methods.map(([method]) => method).join(', '));
  return newMethodNotAllowed(resource, info.verb);
}

const methodVerbs = {
  GET: ['get', 'list'],
  HEAD: ['get', 'list'],
  POST: ['create'],
  PUT: ['update'],
  PATCH: ['patch'],
  DELETE: ['delete', 'deletecollection'],
};

function refuseNameless(): Promise<void> {
  return Promise.reject(newBadRequest('name must be provided'));
}

/** The wording is that of Kubernetes. It names the first version that is served and not deprecated. */
function warnOfDeprecation({ warnings }: RequestContext, { model, version }: ServedResource): void {
  if (!version.deprecated) return;
  warnings.push(version.deprecationWarning ?? standardWarning(model, version.name));
}

function standardWarning({ group, names, versions }: ServedResource['model'], version: string): string {
  const shown = (name: string): string => `${formatApiVersion({ group, version: name })} ${names.kind}`;
  const newer = versions.find(({ served, deprecated }) => served && !deprecated);
  return `${shown(version)} is deprecated${newer === undefined ? '' : `; use ${shown(newer.name)}`}`;
}
