import { newBadRequest } from '#pkg/apimachinery/index';
import type { PluginEndpoint } from '#pkg/apis/index';
import { readBody, type ReadBodyOptions, type RequestContext } from '#pkg/http/index';
import type { EndpointCall } from './endpoint-call.ts';
import { endpointRoute } from './endpoint-path.ts';
import type { MountedEndpoint } from './endpoint-tree.ts';

/** Headers with conditions and guarantees of the API that a handler cannot honor, because it does not see headers. */
const promises = ['idempotency-key', 'if-match', 'if-none-match', 'if-unmodified-since', 'x-svc-fence'] as const;

/**
 * Converts a request to the call that the host gets. The body is read only if the endpoint takes one.
 * @throws StatusError 400 for a guarantee that the endpoint does not give; those of `readBody`
 */
export async function readEndpointCall(
  context: RequestContext,
  { plugin, endpoint }: MountedEndpoint,
  params: Record<string, string>,
  limits: ReadBodyOptions,
): Promise<EndpointCall> {
  if (context.request.method !== 'GET' && context.request.method !== 'HEAD') refusePromises(context, endpoint);
  const { request, user, id } = context;
  const url = request.url ?? '';
  const questionMark = url.indexOf('?');
  const contentType = request.headers['content-type'];
  const body = endpoint.body === undefined ? undefined : await readBody(context, limits);
  return {
    plugin,
    operationId: endpoint.operationId,
    endpoint: endpointRoute(endpoint),
    params,
    query: questionMark === -1 ? '' : url.slice(questionMark + 1),
    ...(contentType === undefined ? {} : { contentType }),
    ...(body === undefined || body.length === 0 ? {} : { body }),
    user: { name: user.name, uid: user.uid, groups: [...user.groups] },
    requestId: id,
  };
}

/**
 * The sender relies on these headers: without them the call would run twice, or for real, or overwrite another change.
 */
function refusePromises({ request, query }: RequestContext, endpoint: PluginEndpoint): void {
  const header = promises.find((name) => request.headers[name] !== undefined);
  if (header !== undefined)
    throw newBadRequest(
      `the header ${header} is not supported here: this endpoint is a plugin's, and does not know of it`,
    );
  const isItsOwn = endpoint.query?.properties !== undefined && Object.hasOwn(endpoint.query.properties, 'dryRun');
  if (!isItsOwn && query.getAll('dryRun').some((value) => value !== ''))
    throw newBadRequest("dryRun is not supported here: this endpoint is a plugin's, which would do what is asked");
}
