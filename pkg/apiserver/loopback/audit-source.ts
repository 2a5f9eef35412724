import { randomUUID } from 'node:crypto';
import type { ResourceType } from '#pkg/apimachinery/index';
import type { UserInfo } from '#pkg/identity/index';
import type { AuditSource } from '../audit/request-audit.ts';
import type { Access } from './loopback-access.ts';

/** What the audit tells of a request within the process: the same as of the request over HTTP that it replaces. */
export function sourceOfAccess(
  user: UserInfo,
  { group, version, plural }: ResourceType,
  { verb, subresource = '', namespace = '', name = '' }: Access,
): AuditSource {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const parts = [namespace === '' ? '' : `namespaces/${namespace}`, plural, name, subresource];
  const path = [root, ...parts.filter((part) => part !== '')].join('/');
  return {
    id: randomUUID(),
    users: { user },
    info: { verb, group, version, resource: plural, subresource, namespace, name, isResourceRequest: true, path },
    uri: path,
    addresses: [],
  };
}
