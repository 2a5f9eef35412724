import { answerPageFile, send, sendStream, type Handler, type TrustedProxies } from '#pkg/http/index';
import type { Throttle } from '../throttle/throttle.ts';
import { isAccessError, newCsrfFailed, newNotAuthenticated, newThrottled } from './access-error.ts';
import { AccessRequest } from './access-request.ts';
import { authenticate, type AuthenticationParts } from './authenticate.ts';
import type { Answer, Operation } from './operation.ts';
import type { OperationTable } from './operation-table.ts';
import type { Caller } from '../principals/caller.ts';

export interface OperationHandlerOptions extends AuthenticationParts {
  operations: OperationTable;
  throttle: Throttle;
  proxies: TrustedProxies;
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** From a request to its answer: who asks, how often, what they ask, and that a browser's page was meant to ask it. */
export function operationHandler({ operations, throttle, proxies, ...authentication }: OperationHandlerOptions): Handler {
  return async (context) => {
    const request = new AccessRequest(context, proxies);
    let caller: Caller | undefined;
    try {
      caller = await authenticate(request, authentication);
    } catch (error) {
      // Guessing has its limit too.
      if (isAccessError(error) && error.status === 401) await count(throttle, `ip:${request.address}`, 'anonymous');
      throw error;
    }
    if (caller === undefined) await count(throttle, `ip:${request.address}`, 'anonymous');
    else await count(throttle, `user:${caller.id}`, 'user');
    if (caller !== undefined) context.user = { name: caller.username, uid: caller.id, groups: [] };
    const { operation, params } = operations.find(request.method, context.info.path);
    context.route = operation.path;
    const answer = await run(operation, { request, params, query: context.query, caller });
    await sendAnswer(context, answer);
  };
}

async function count(throttle: Throttle, key: string, kind: 'anonymous' | 'user'): Promise<void> {
  const retryAfterSeconds = await throttle.take(key, kind);
  if (retryAfterSeconds !== undefined) throw newThrottled(retryAfterSeconds);
}

async function run(operation: Operation, call: Parameters<Operation['handle']>[0] & { caller: Caller | undefined }): Promise<Answer> {
  const { caller, request } = call;
  if (operation.access === 'open') {
    if (caller?.scheme === 'session' && operation.checksForm !== true) await checkCsrf(request, caller);
    return operation.handle(call);
  }
  if (caller === undefined) throw newNotAuthenticated();
  await checkCsrf(request, caller);
  return operation.handle({ ...call, caller });
}

/** A browser sends the session along whoever made it ask; only the service's own pages know the token. */
async function checkCsrf(request: AccessRequest, { scheme, session }: Caller): Promise<void> {
  if (scheme !== 'session' || safeMethods.has(request.method)) return;
  const header = request.header('x-csrftoken');
  if (header !== '' && session!.isCsrfToken(header)) return;
  const type = request.header('content-type');
  const isForm = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type.trim());
  const field = header === '' && isForm ? (await request.fields())['csrfmiddlewaretoken'] : undefined;
  if (typeof field !== 'string' || !session!.isCsrfToken(field)) throw newCsrfFailed();
}

async function sendAnswer(context: Parameters<Handler>[0], { status, contentType = 'application/json', body = '', stream, file, headers }: Answer): Promise<void> {
  if (file !== undefined) return answerPageFile(context, file);
  // What is answered depends on who asks, and holds people's data.
  context.response.setHeader('Cache-Control', 'no-store');
  if (stream !== undefined) return sendStream(context, status, stream, { contentType, ...(headers === undefined ? {} : { headers }) });
  await send(context, status, status === 204 ? '' : contentType, body, headers);
}
