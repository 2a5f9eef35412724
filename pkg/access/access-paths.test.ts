import { expect, test } from '@jest/globals';
import { accessPrefixOf } from './access-paths.ts';

test.each([
  ['/api/v1/users', '/api/v1/users'],
  ['/api/v1/users/', '/api/v1/users'],
  ['/api/v1/authentication/auth/', '/api/v1/authentication'],
  ['/api/v1/rbac/system-role-bindings/', '/api/v1/rbac'],
  ['/api/v1/orgs/orgs/x/', '/api/v1/orgs'],
  ['/api/v1/audits/login-logs', '/api/v1/audits'],
  ['/api/docs', '/api/docs'],
  ['/api/docs/style.css', '/api/docs'],
  ['/api/openapi.json', '/api/openapi.json'],
  ['/login', '/login'],
  ['/logout/', '/logout'],
  ['/settings/password/', '/settings'],
  ['/assets/pages.js', '/assets'],
])('%s is of access management', (path, prefix) => {
  expect(accessPrefixOf(path)).toBe(prefix);
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
  '/uc/',
  '/uc/settings/',
  '/logins',
  '/livez',
  '/metrics',
  '/debug/flags/log-level',
])('%s is of the content platform', (path) => {
  expect(accessPrefixOf(path)).toBeUndefined();
});
