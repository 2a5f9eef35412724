import { expect, test } from '@jest/globals';
import { get, type WireRequest } from '../../harness/wire/wire-request.ts';
import type { Rule } from '../violation.ts';
import type { Answer } from '../../harness/wire/answer.ts';
import { accessJudge } from './judge-access.ts';

const api = get('/api/v1/users/users/');
const page = get('/login/');
const raw: WireRequest = { ...api, raw: [Buffer.from('GET')] };
const json = { 'content-type': 'application/json', 'cache-control': 'no-store' };
const html = { ...json, 'content-type': 'text/html; charset=utf-8' };
const challenge = { ...json, 'www-authenticate': 'Bearer realm="api"' };

function answerOf(status: number, body: string, headers: Record<string, string> = json): Answer {
  const all = { 'x-request-id': 'a', 'x-content-type-options': 'nosniff', ...headers };
  return {
    status,
    body: Buffer.from(body),
    complete: true,
    headers: new Map(Object.entries(all).map(([name, value]) => [name, [value]])),
  };
}

const cases: [string, WireRequest, Answer, Rule | undefined][] = [
  ['a list', api, answerOf(200, '[]'), undefined],
  ['a detail', api, answerOf(404, '{"detail":"x","code":"not_found"}'), undefined],
  ['fields', api, answerOf(400, '{"limit":["x"]}'), undefined],
  ['of a login', api, answerOf(400, '{"error":"password_failed","msg":"x"}'), undefined],
  [
    'both kinds of 401',
    api,
    answerOf(401, '{"detail":"Authentication credentials were not provided.","code":"not_authenticated"}', challenge),
    undefined,
  ],
  [
    'a 401 with details',
    api,
    answerOf(401, '{"detail":"The token has expired.","code":"authentication_failed"}', challenge),
    'failure body',
  ],
  [
    'a 401 without its challenges',
    api,
    answerOf(401, '{"detail":"The credential is not valid.","code":"authentication_failed"}'),
    'headers',
  ],
  ['an error of the platform', api, answerOf(400, '{"kind":"Status","status":"Failure","code":400}'), 'failure body'],
  [
    'an error of the platform, to an invalid request',
    raw,
    answerOf(400, '{"kind":"Status","status":"Failure","code":400}'),
    undefined,
  ],
  ['another shape', api, answerOf(400, '{"message":"x"}'), 'failure body'],
  ['an empty list of texts', api, answerOf(400, '{"limit":[]}'), 'failure body'],
  ['a lone surrogate', api, answerOf(400, String.raw`{"limit":["\ud800"]}`), 'failure body'],
  [
    'a refusal that a cache may keep',
    api,
    answerOf(404, '{"detail":"x","code":"not_found"}', { 'content-type': 'application/json' }),
    'headers',
  ],
  ['a page in the API', api, answerOf(404, '<!doctype html>', html), 'failure body'],
  ['a page', page, answerOf(404, '<!doctype html>', html), undefined],
  ['an internal error', api, answerOf(500, '{"detail":"An internal error occurred.","code":"error"}'), 'unnamed 5xx'],
  [
    'not available',
    api,
    answerOf(503, '{"detail":"x","code":"unavailable"}', { ...json, 'retry-after': '1' }),
    'unnamed 5xx',
  ],
  ['a hash of a password', api, answerOf(200, '["$argon2id$v=19"]'), 'leak'],
  ['a table', api, answerOf(400, '{"x":["access.users"]}'), 'leak'],
  ['a secret', api, answerOf(200, '["hunter2"]'), 'leak'],
  ['a redirect to a page', page, answerOf(303, '', { location: '/settings/' }), undefined],
  ['a redirect to another site', page, answerOf(303, '', { location: '//evil.example' }), 'headers'],
  ['a redirect in the API', api, answerOf(303, '', { location: '/settings/' }), 'headers'],
  ['a redirect without a target', page, answerOf(303, ''), 'headers'],
];

test.each(cases)('%s', (_what, request, answer, rule) => {
  expect(accessJudge(request, { answers: [answer], began: 0, ended: 1 }, ['hunter2'])?.rule).toBe(rule);
});
