import { Router, type RequestHandler } from 'express';
import { newBadRequest, newMethodNotAllowed, newServiceUnavailable } from '#pkg/apimachinery/index';
import { databaseFailure, failureSentence } from '#pkg/database/index';
import {
  contextOf,
  sendJson,
  type AnswerHeaders,
  type EndpointGroup,
  type RequestContext,
  type TrustedProxies,
} from '#pkg/http/index';
import { tokenGroup, tokenList, tokenResource, tokenVersion } from './personal-token.ts';
import type { PersonalTokens, TokenOwner } from './personal-tokens.ts';
import { checkDeleteOptions, tokenOwnerOf, readDraft, refuseDryRun, refuseSelectors } from './token-request.ts';

export interface TokenEndpointsParts {
  tokens: PersonalTokens;
  proxies: TrustedProxies;
}

interface TokenCall extends TokenEndpointsParts {
  context: RequestContext;
  owner: TokenOwner;
  /** From the path. */
  name: string;
}

type TokenHandler = (call: TokenCall) => Promise<void>;

export const tokenPrefix = `/apis/${tokenGroup}/${tokenVersion}`;
const collection = `/${tokenResource.resource}`;

/**
 * A user's personal tokens on the content platform: list, create, get, delete, and the actions `revocation` and
 * `restoration`. The authorizer permits them with the resource `personalaccesstokens` (for actions:
 * `personalaccesstokens/actions`); users only see their own tokens.
 */
export function personalTokenEndpoints(parts: TokenEndpointsParts): EndpointGroup {
  const router = Router({ caseSensitive: true, strict: true });
  const add = (path: string, handlers: Readonly<Record<string, TokenHandler>>): void => {
    const route = router.route(path);
    for (const [method, handler] of Object.entries(handlers)) route[method as 'get'](asRoute(handler, parts));
    route.all(refuseMethod(Object.keys(handlers)));
  };
  add(collection, { get: list, post: create });
  add(`${collection}/:name`, { get: one, delete: remove });
  add(`${collection}/:name/actions/revocation`, { put: revoke });
  add(`${collection}/:name/actions/restoration`, { put: restore });
  return { prefix: tokenPrefix, router };
}

function asRoute(handler: TokenHandler, parts: TokenEndpointsParts): RequestHandler {
  return async (request) => {
    const context = contextOf(request);
    try {
      await handler({ ...parts, context, owner: tokenOwnerOf(context, parts.proxies), name: context.info.name });
    } catch (error) {
      const failure = databaseFailure(error);
      if (failure === undefined) throw error;
      const unavailable = newServiceUnavailable(failureSentence(failure));
      unavailable.cause = error;
      throw unavailable;
    }
  };
}

function refuseMethod(methods: readonly string[]): RequestHandler {
  const allowed = methods.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])).join(', ');
  return (request, response) => {
    response.setHeader('Allow', allowed);
    throw newMethodNotAllowed(tokenResource, contextOf(request).info.verb);
  };
}

async function list({ tokens, owner, context }: TokenCall): Promise<void> {
  if (context.info.verb === 'watch') throw newMethodNotAllowed(tokenResource, 'watch');
  refuseSelectors(context);
  await answer(context, 200, tokenList(await tokens.list(owner.user.uid)));
}

async function create({ tokens, owner, context }: TokenCall): Promise<void> {
  if (context.request.headers['idempotency-key'] !== undefined)
    throw newBadRequest('the header Idempotency-Key is not supported here: a token is shown once');
  refuseDryRun(context);
  const token = await tokens.create(owner, await readDraft(context));
  await answer(context, 201, token, { Location: `${tokenPrefix}${collection}/${token.metadata.name}` });
}

async function one({ tokens, owner, context, name }: TokenCall): Promise<void> {
  await answer(context, 200, await tokens.get(owner.user.uid, name));
}

async function remove({ tokens, owner, context, name }: TokenCall): Promise<void> {
  await checkDeleteOptions(context);
  const { metadata } = await tokens.remove(owner, name);
  const { group, resource } = tokenResource;
  await answer(context, 200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, group, kind: resource, uid: metadata.uid },
  });
}

async function revoke({ tokens, owner, context, name }: TokenCall): Promise<void> {
  refuseDryRun(context);
  await answer(context, 200, await tokens.revoke(owner, name));
}

async function restore({ tokens, owner, context, name }: TokenCall): Promise<void> {
  refuseDryRun(context);
  await answer(context, 200, await tokens.restore(owner, name));
}

function answer(context: RequestContext, status: number, body: object, headers?: AnswerHeaders): Promise<void> {
  return sendJson(context, status, JSON.stringify(body), { 'Cache-Control': 'no-store', ...headers });
}
