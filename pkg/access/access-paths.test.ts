import { expect, test } from '@jest/globals';
import { isAccessPath } from './access-paths.ts';

test.each([
  '/api/v1/users',
  '/api/v1/users/',
  '/api/v1/authentication/auth/',
  '/api/v1/rbac/system-role-bindings/',
  '/api/docs',
  '/api/docs/style.css',
  '/api/openapi.json',
  '/login',
  '/logout/',
  '/settings/password/',
  '/assets/pages.js',
])('%s is of access management', (path) => {
  expect(isAccessPath(path)).toBe(true);
});

test.each([
  '/',
  '/api',
  '/api/',
  '/api/v1',
  '/api/v1/',
  '/api/v1/namespaces',
  '/api/v1/namespaces/users',
  '/api/v1/usersx',
  '/api/v1/Users',
  '/api/v2/users',
  '/apis/users/v1/users',
  '/docs',
  '/api/docsx',
  '/openapi/v2',
  '/console/assets/index.js',
  '/console/login',
  '/logins',
  '/livez',
  '/metrics',
  '/debug/flags/log-level',
])('%s is of the content platform', (path) => {
  expect(isAccessPath(path)).toBe(false);
});
