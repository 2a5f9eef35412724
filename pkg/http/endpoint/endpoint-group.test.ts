import { describe, expect, test } from '@jest/globals';
import { Router, type Response } from 'express';
import type { Authorizer, RequestAuthenticator } from '#pkg/identity/index';
import { findEndpointGroup, isOpenEndpoint, type EndpointGroup } from './endpoint-group.ts';
import { expressHandler } from './express-handler.ts';
import { withAuthentication } from '../filters/with-authentication.ts';
import { withAuthorization } from '../filters/with-authorization.ts';
import type { Filter, Handler } from '../request/request-context.ts';
import { deferred, startTestServer } from '../server/start-test-server.ts';

function group(prefix: string, facts: Partial<EndpointGroup> = {}): EndpointGroup {
  const router = Router();
  router.use((_request: unknown, response: Response) => void response.end(prefix));
  return { prefix, router, ...facts };
}

describe('a group owns', () => {
  const outer = group('/apis/x');
  const inner = group('/apis/x/v1', { owns: (path) => path === '/apis/x/v1/mine' });

  test.each([
    ['its declared paths', '/apis/x/v1/mine', inner],
    ['nothing else below its prefix, which belongs to another group then', '/apis/x/v1/yours', outer],
    ['nothing below its declared paths', '/apis/x/v1/mine/x', outer],
    ['not the prefix', '/apis/x/v1', outer],
    ['nothing outside its prefix, whatever it declares', '/apis/y/v1/mine', undefined],
  ])('%s', (_reason, path, owner) => {
    expect(findEndpointGroup([outer, inner], path)).toBe(owner);
    expect(findEndpointGroup([inner, outer], path)).toBe(owner);
  });

  test('all paths below its prefix by default', () => {
    expect(findEndpointGroup([outer], '/apis/x/any/thing')).toBe(outer);
    expect(findEndpointGroup([outer], '/apis/xy')).toBeUndefined();
  });
});

test.each(['before its credential is checked', 'after that'])(
  'a path that is no longer public, or that belongs to a model, %s, needs a credential',
  async (when) => {
    const groups = new Set([group('/apis/api.x', { isOpen: true, owns: (path) => path === '/apis/api.x/v1/mine' })]);
    const isOpen = isOpenEndpoint(groups);
    const came = deferred();
    const closed = deferred();
    const wait = async (): Promise<void> => {
      came.open();
      await closed.opened;
    };
    const nobody: RequestAuthenticator = {
      authenticateRequest: async () => {
        if (when.startsWith('before')) await wait();
        return undefined;
      },
    };
    const slow: Filter = (next) => async (context) => {
      await wait();
      await next(context);
    };
    const denies: Authorizer = { authorize: () => Promise.resolve({ allowed: false, reason: '' }) };
    const endpoints = expressHandler(groups);
    const handler: Handler = async (context) => {
      if (findEndpointGroup(groups, context.info.path) === undefined) context.response.end('the object of a model');
      else await endpoints(context);
    };
    const { server, send } = await startTestServer(handler, {
      filters: [withAuthentication(nobody, { isOpen }), slow, withAuthorization(denies, { isOpen })],
    });
    const answer = send({ path: '/apis/api.x/v1/mine' });
    await came.opened;
    groups.clear();
    closed.open();
    expect((await answer).status).toBe(when.startsWith('before') ? 401 : 403);
    await server.close({ drainTimeoutMs: 1000 });
  },
);
