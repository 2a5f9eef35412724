import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AuditPolicy } from '#pkg/audit/index';
import { loadOptions } from '../options/load-options.ts';
import { OperatorError } from '../options/operator-error.ts';
import { readAuditPolicy } from './open-audit.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-audit-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(content?: string): Promise<AuditPolicy> {
  const file = join(folder, 'audit-policy');
  if (content !== undefined) await writeFile(file, content);
  const { options } = loadOptions({
    configFolder: folder,
    environment: {},
    args: [`--svc.audit.policy-file=${file}`],
  });
  return readAuditPolicy(options);
}

const policy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Request }]\n';

test('without the option the policy is the default', async () => {
  const { options } = loadOptions({ configFolder: folder, environment: {}, args: [] });
  expect(await readAuditPolicy(options)).toBe(AuditPolicy.default);
});

test('the file decides', async () => {
  const attributes = {
    user: { name: 'mia', uid: '', groups: [] },
    verb: 'list',
    group: '',
    resource: 'namespaces',
    subresource: '',
    namespace: '',
    name: '',
    isResourceRequest: true,
    path: '/api/v1/namespaces',
  };
  expect([(await read(policy)).decide(attributes).level, AuditPolicy.default.decide(attributes).level]).toEqual([
    'Request',
    'None',
  ]);
});

test.each([
  {
    reason: 'a missing file',
    content: undefined,
    says: /^svc\.audit\.policy-file cannot be read: .*audit-policy \(ENOENT\)\.$/,
  },
  { reason: 'no policy', content: 'kind: Secret', says: /^svc\.audit\.policy-file holds no policy: .*audit-policy: / },
  {
    reason: 'a wrong level',
    content: policy.replace('Request', 'request'),
    says: /rules\[0\]\.level: "request" is not a level; use None, Metadata, Request or RequestResponse\.$/,
  },
  { reason: 'too much', content: '#'.repeat(1024 * 1024 + 1), says: /audit-policy may have at most 1 MiB\.$/ },
])('$reason stops the start with a sentence that names the option', async ({ content, says }) => {
  const reading = read(content);
  await expect(reading).rejects.toThrow(OperatorError);
  await expect(reading).rejects.toThrow(says);
});
