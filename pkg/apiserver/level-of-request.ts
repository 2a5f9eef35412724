import { hasLargeBody, type LevelReader, type PriorityLevel } from '#pkg/http/index';

/** Lists of more objects than this are `bulk`: reading and sending them takes several milliseconds. */
const maxSmallList = 100;

/** The documents of all models, which have megabytes if there are many. */
const documents = /^\/(?:openapi\/v[23]|docs\/openapi)(?:\/|$)/;

/**
 * The priority level of a request to the content platform. `bulk`: a list without a limit, or of more than 100 objects,
 * a watch that begins with all objects, a deletion of a collection, a body above 64 KiB or of unknown length, an OpenAPI
 * document. `system`: one lease. `users`: everything else.
 */
export const levelOfRequest: LevelReader = ({ info, query, request }): PriorityLevel => {
  if (hasLargeBody(request.headers)) return 'bulk';
  if (!info.isResourceRequest) return documents.test(info.path) ? 'bulk' : 'users';
  if (info.verb === 'deletecollection') return 'bulk';
  if (info.verb === 'list') return isSmallList(query) ? 'users' : 'bulk';
  if (info.verb === 'watch') return beginsWithObjects(query) ? 'bulk' : 'users';
  return info.resource === 'leases' && info.group === 'coordination.k8s.io' ? 'system' : 'users';
};

/** Parameters that the list then refuses, such as two sizes, may make a list small: a refusal is. */
function isSmallList(query: URLSearchParams): boolean {
  const sizes = ['limit', 'size'].map((name) => Number(query.get(name) ?? 0));
  if (sizes.every((size) => size === 0)) return Number(query.get('page') ?? 0) > 0;
  return sizes.every((size) => !(size > maxSmallList));
}

function beginsWithObjects(query: URLSearchParams): boolean {
  const asked = query.get('sendInitialEvents')?.toLowerCase() ?? '';
  return asked === '' ? Number(query.get('resourceVersion') ?? 0) === 0 : asked === 'true' || asked === '1';
}
