import { answerPageFile, send, sendStream, type Handler, type TrustedProxies } from '#pkg/http/index';
import { newCsrfFailed, newNotAuthenticated } from './access-error.ts';
import { AccessRequest } from './access-request.ts';
import { admit, type AdmissionParts } from './admit.ts';
import type { Answer, Operation } from './operation.ts';
import type { OperationTable } from './operation-table.ts';
import type { Caller } from '../principals/caller.ts';

export interface OperationHandlerOptions extends AdmissionParts {
  operations: OperationTable;
  proxies: TrustedProxies;
}

/** Nobody has said who they are yet. */
const openBodyLimit = 64 * 1024;
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** From a request to its answer: who asks, how often, what they ask, and that a browser's page was meant to ask it. */
export function operationHandler({ operations, proxies, ...admission }: OperationHandlerOptions): Handler {
  return async (context) => {
    const request = new AccessRequest(context, proxies);
    const caller = await admit(request, admission);
    const { operation, params } = operations.find(request.method, context.info.path);
    context.route = operation.path;
    const answer = await run(operation, { request, params, query: context.query, caller });
    await sendAnswer(context, answer);
  };
}

async function run(operation: Operation, call: Parameters<Operation['handle']>[0] & { caller: Caller | undefined }): Promise<Answer> {
  const { caller, request } = call;
  if (operation.access === 'open') {
    request.limitBody(openBodyLimit);
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
