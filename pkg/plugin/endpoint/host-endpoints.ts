import { Router, type Request } from 'express';
import {
  isJsonObject,
  isStatusError,
  newBadRequest,
  newInternalError,
  untilAborted,
  type JsonObject,
  type JsonValue,
} from '#pkg/apimachinery/index';
import { contextOf, readBody, send, type EndpointGroup, type RequestContext } from '#pkg/http/index';
import type { UserInfo } from '#pkg/identity/index';
import { formatFrame, parseFrame } from './call-frame.ts';
import type { EndpointCall, EndpointHost } from './endpoint-call.ts';
import { signatureHeader } from './signature/call-claims.ts';
import type { CallVerifier } from './signature/call-verifier.ts';

export interface HostEndpointsOptions {
  host: EndpointHost;
  verifier: CallVerifier;
}

/** The host's path prefix: `/plugin-endpoints/<plugin>/<operation>`. */
export const hostPrefix = '/plugin-endpoints';
/**
 * The content type of a response from the endpoint or the host; a response with another type comes from a proxy
 * between.
 */
export const resultType = 'application/vnd.svc.endpoint-result';

/** An API server limits bodies to 64 MiB or less. */
const maxCallBytes = 65 * 1024 * 1024;
const pathForm = /^\/plugin-endpoints\/([a-z0-9-]{1,253})\/([A-Za-z0-9_-]{1,127})$/;

/**
 * Serves calls from API servers in other processes to the plugins of this one. A call without a valid signature gets
 * 401, and its body is not read.
 */
export function hostEndpoints({ host, verifier }: HostEndpointsOptions): EndpointGroup {
  const router = Router();
  router.use((request: Request) => serve(contextOf(request), host, verifier));
  return { prefix: hostPrefix, isOpen: true, isUnlimited: true, router };
}

async function serve(context: RequestContext, host: EndpointHost, verifier: CallVerifier): Promise<void> {
  const { request, response, info, log, signal } = context;
  response.setHeader('WWW-Authenticate', 'SVC-Signature');
  const header = request.headers[signatureHeader];
  const claims = await verifier.verify(
    typeof header === 'string' ? header : undefined,
    `${request.method} ${info.path}`,
    log,
  );
  response.removeHeader('WWW-Authenticate');
  // All calls of an API server come from one address; their memory counts against their users.
  if (claims.user !== undefined) context.user = { name: claims.user, uid: '', groups: [] };
  const bytes = await readBody(context, { maxBytes: maxCallBytes });
  verifier.verifyBody(claims, bytes, log);
  const call = readForwarded(info.path, bytes);
  if (request.method !== 'POST' || call === undefined) throw newBadRequest('this is no call of an endpoint');
  await send(context, 200, resultType, await frameOf(untilAborted(host.call(call, signal), signal), context));
}

/** The host answers failures as frames, so that they differ from failures of the connection. */
async function frameOf(work: ReturnType<EndpointHost['call']>, { log }: RequestContext): Promise<Buffer> {
  try {
    const { status, headers, body, file } = await work;
    return file === undefined
      ? formatFrame({ status, headers, hasBody: body !== undefined }, body)
      : formatFrame({ status, headers, hasFile: true }, file);
  } catch (error) {
    if (!isStatusError(error)) log.error({ err: error }, 'the plugin host failed');
    const failure = isStatusError(error) ? error : newInternalError(error);
    return formatFrame({ failure: failure.toStatus() });
  }
}

/** The body of a forwarded call. */
export function formatForwarded({ endpoint, params, query, contentType, body, user, requestId }: EndpointCall): Buffer {
  return formatFrame({ endpoint, params, query, contentType, user, requestId, hasBody: body !== undefined }, body);
}

function readForwarded(path: string, bytes: Buffer): EndpointCall | undefined {
  const match = pathForm.exec(path);
  const frame = parseFrame(bytes);
  if (match === null || frame === undefined) return undefined;
  const { endpoint, params, query, contentType, user, requestId, hasBody } = frame.head;
  const who = readUser(user);
  if (
    who === undefined ||
    typeof endpoint !== 'string' ||
    !isTextMap(params) ||
    typeof query !== 'string' ||
    typeof requestId !== 'string'
  )
    return undefined;
  return {
    plugin: match[1]!,
    operationId: match[2]!,
    endpoint,
    params,
    query,
    ...(typeof contentType === 'string' ? { contentType } : {}),
    ...(hasBody === true ? { body: frame.rest } : {}),
    user: who,
    requestId,
  };
}

function readUser(value: JsonValue | undefined): UserInfo | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, uid, groups, extra, restriction } = value;
  if (typeof name !== 'string' || typeof uid !== 'string' || !isTexts(groups)) return undefined;
  const user: UserInfo = { name, uid, groups };
  if (extra !== undefined) {
    if (!isJsonObject(extra) || !Object.values(extra).every(isTexts)) return undefined;
    user.extra = extra as Record<string, string[]>;
  }
  // An unreadable restriction must not count as no restriction.
  if (restriction !== undefined) {
    if (!isJsonObject(restriction) || !isTexts(restriction['roles'])) return undefined;
    user.restriction = { roles: restriction['roles'] };
  }
  return user;
}

function isTexts(value: JsonValue | undefined): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

export function isTextMap(value: JsonValue | undefined): value is JsonObject & Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string');
}
