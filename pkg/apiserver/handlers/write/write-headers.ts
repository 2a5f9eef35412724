import { createHash } from 'node:crypto';
import { fenceHeader, fieldManagerName, newBadRequest, parseFence, type Fence } from '#pkg/apimachinery/index';
import { parseEntityTags, type RequestContext } from '#pkg/http/index';
import type { IdempotencyKey } from '#pkg/storage/index';
import type { Preconditions, RememberedOutcome } from '../../rest/served-resource.ts';
import { WriteContext } from '../../rest/write-context.ts';
import { copiesOfWrite, requestReadBudget } from '../request/request-read-budget.ts';
import type { ResourceRequest } from '../request/resource-request.ts';
import type { WriteParameters } from './write-options.ts';

/** Creates the write context of a request. @throws StatusError 400 for an invalid fence. */
export function newWriteContext(
  context: RequestContext,
  { dryRun, fieldValidation, fieldManager }: WriteParameters,
  idempotency?: IdempotencyKey,
): WriteContext {
  return new WriteContext({
    user: context.user,
    requestId: context.id,
    requestAudit: context.audit,
    signal: context.signal,
    dryRun,
    fieldValidation,
    fieldManager: fieldManager === '' ? managerFromUserAgent(context.request.headers['user-agent']) : fieldManager,
    idempotency,
    fence: readFence(context),
    warn: (text) => context.warnings.push(text),
    memory: {
      readBudget: requestReadBudget(context, copiesOfWrite),
      parse: (bytes, options) => context.bytes.parse(bytes, { isAdditional: true, ...options }),
    },
  });
}

/** The User-Agent up to the first slash, without characters that cannot be printed. Source: k8s.io/apiserver. */
export function managerFromUserAgent(userAgent = ''): string {
  return fieldManagerName(userAgent.split('/', 1)[0]!);
}

const fenceName = fenceHeader.toLowerCase();

function readFence({ request }: RequestContext): Fence | undefined {
  const header = request.headers[fenceName];
  if (header === undefined) return undefined;
  if (typeof header !== 'string') throw newBadRequest(`the header ${fenceHeader} must be given once`);
  return parseFence(header);
}

const keyForm = /^[\x20-\x7e]{1,255}$/;

/**
 * The idempotency key of a request and its earlier outcome; empty without the header Idempotency-Key.
 * A dry run stores no outcome, so a key on it is rejected rather than ignored: the client would rely on it.
 * @throws StatusError 400 for a key that is not 1 to 255 printable ASCII characters, or on a dry run; 409 and 422 for a
 * key that another request uses.
 */
export async function findEarlierOutcome(
  { context, served }: ResourceRequest,
  body: Buffer,
  dryRun: boolean,
): Promise<{ idempotency?: IdempotencyKey; earlier?: RememberedOutcome | undefined }> {
  const { request, info, user } = context;
  const key = request.headers['idempotency-key'];
  if (key === undefined) return {};
  if (typeof key !== 'string' || !keyForm.test(key))
    throw newBadRequest('the header Idempotency-Key must be 1 to 255 printable ASCII characters');
  if (dryRun)
    throw newBadRequest(
      'the header Idempotency-Key cannot be combined with a dry run, which stores nothing that could be remembered',
    );
  const bodyHash = createHash('sha256').update(body).digest('base64url');
  const idempotency = { user: user.name, method: request.method ?? '', path: info.path, key, bodyHash };
  return { idempotency, earlier: await served.storage.findRememberedWrite(idempotency, requestReadBudget(context)) };
}

/** @throws StatusError 400 for a request with an idempotency key where none is supported. */
export function refuseIdempotencyKey({ request }: RequestContext, reason: string): void {
  if (request.headers['idempotency-key'] !== undefined)
    throw newBadRequest(`the header Idempotency-Key is not supported here: ${reason}`);
}

/**
 * Parses If-Match into preconditions. The comparison is strong: a weak tag matches nothing. `*` requires only that the
 * object exists, which every write except create requires anyway.
 */
export function readIfMatch({ request }: RequestContext): Preconditions {
  const tags = parseEntityTags(request.headers['if-match'], 'If-Match');
  return tags === undefined || tags.any ? {} : { ifMatch: tags.strong };
}
