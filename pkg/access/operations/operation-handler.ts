import { answerPageFile, isCrossSite, send, sendStream, type RequestContext } from '#pkg/http/index';
import { newCsrfFailed, newForeignOrigin, newOtherSession, newNotAuthenticated } from '../http/access-error.ts';
import type { AccessRequest } from '../http/access-request.ts';
import type { AccessResponse, Operation } from './operation.ts';
import type { OperationTable } from './operation-table.ts';
import type { Caller } from '../http/caller.ts';

/** Answers a request; `caller` is undefined if it is anonymous. */
export type OperationHandler = (request: AccessRequest, caller: Caller | undefined) => Promise<void>;

/** In bytes; small, as the client may be anonymous. */
const openBodyLimit = 64 * 1024;
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Finds the operation, checks CSRF for sessions, and sends the answer. `allowedOrigins`: other origins whose pages may
 * act for their visitor.
 */
export function operationHandler(operations: OperationTable, allowedOrigins: ReadonlySet<string>): OperationHandler {
  return async (request, caller) => {
    const { context } = request;
    const { operation, params } = operations.find(request.method, context.info.path);
    context.route = operation.path;
    const answer = await run(operation, { request, params, query: context.query, caller }, allowedOrigins);
    await sendAnswer(context, answer);
  };
}

async function run(
  operation: Operation,
  call: Parameters<Operation['handle']>[0] & { caller: Caller | undefined },
  allowedOrigins: ReadonlySet<string>,
): Promise<AccessResponse> {
  const { caller, request } = call;
  if (operation.access === 'open') {
    request.limitBody(openBodyLimit);
    if (operation.refusesOtherSites === true) checkSite(request, allowedOrigins);
    if (caller?.scheme === 'session' && operation.needsNoCsrfToken !== true)
      await checkCsrf(request, caller, allowedOrigins);
    return operation.handle(call);
  }
  if (caller === undefined) throw newNotAuthenticated();
  await checkCsrf(request, caller, allowedOrigins);
  return operation.handle({ ...call, caller });
}

/**
 * Browsers send the session cookie with requests of any page. Only the service's own pages know the token, and browsers
 * name the page's origin. A page that names its session in `X-SVC-Session`, by the CSRF token, gets nothing of another
 * session: it shows one person's data.
 */
async function checkCsrf(request: AccessRequest, caller: Caller, allowedOrigins: ReadonlySet<string>): Promise<void> {
  if (caller.scheme !== 'session') return;
  const named = request.header('x-svc-session');
  if (named !== '' && !caller.session!.isCsrfToken(named)) throw newOtherSession();
  if (safeMethods.has(request.method)) return;
  await checkCsrfToken(request, caller);
  checkSite(request, allowedOrigins);
}

function checkSite({ context, url }: AccessRequest, allowedOrigins: ReadonlySet<string>): void {
  if (!isCrossSite(context.request, { url, allowedOrigins })) return;
  context.log.info(
    { origin: context.request.headers.origin, own: url.ownOrigins(context.request) },
    'refused a request that a page of another origin sent',
  );
  throw newForeignOrigin();
}

async function checkCsrfToken(request: AccessRequest, { session }: Caller): Promise<void> {
  const header = request.header('x-csrftoken');
  if (header !== '' && session!.isCsrfToken(header)) return;
  const type = request.header('content-type');
  const isForm = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type.trim());
  const field = header === '' && isForm ? (await request.fields())['csrfmiddlewaretoken'] : undefined;
  if (typeof field !== 'string' || !session!.isCsrfToken(field)) throw newCsrfFailed();
}

async function sendAnswer(
  context: RequestContext,
  { status, contentType = 'application/json', body = '', stream, file, headers }: AccessResponse,
): Promise<void> {
  if (file !== undefined) return answerPageFile(context, file);
  // Answers depend on the caller and hold personal data.
  context.response.setHeader('Cache-Control', 'no-store');
  if (stream !== undefined)
    return sendStream(context, status, stream, { contentType, ...(headers === undefined ? {} : { headers }) });
  await send(context, status, status === 204 ? '' : contentType, body, headers);
}
