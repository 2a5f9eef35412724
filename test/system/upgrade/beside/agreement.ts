import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { ServiceClient, type ApiObject, type Json } from '../service-client.ts';
import { booksDefinition, booksPath, definitionsPath } from '../fixtures/definitions.ts';
import { logIn } from '../fixtures/people.ts';
import type { Version } from './version.ts';

const agreementTimeoutMs = 20_000;
const tokensPath = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';

/**
 * Checks that models, roles and tokens created on one version work on the other. Returns the problems. `mark` makes
 * names unique.
 */
export async function agree(
  one: Version,
  other: Version,
  { password, mark }: { password: string; mark: string },
): Promise<string[]> {
  const problems: string[] = [];
  for (const step of [modelMadeOnOne, roleMadeOnOne, tokenMadeOnOne]) {
    await step(one, other, { password, mark }).catch((error: Error) =>
      problems.push(`made on ${one.name}, used on ${other.name}: ${error.message}`),
    );
  }
  return problems;
}

interface Mark {
  readonly password: string;
  readonly mark: string;
}

async function modelMadeOnOne(one: Version, other: Version, { mark }: Mark): Promise<void> {
  const group = `${mark}.example.com`;
  const spec = { ...(booksDefinition['spec'] as Json), group };
  await one.api.post(definitionsPath, { ...booksDefinition, metadata: { name: `books.${group}` }, spec });
  const path = `/apis/${group}/v1/namespaces/library/books`;
  await retryUntilTrue(async () => (await other.api.send('GET', path)).status === 200, {
    what: `${other.name} serves the model`,
    timeoutMs: agreementTimeoutMs,
  });
  await other.api.post(path, {
    apiVersion: `${group}/v1`,
    kind: 'Book',
    metadata: { name: 'first' },
    spec: { isbn: '1' },
  });
  const rival = await one.api.send('POST', path, {
    apiVersion: `${group}/v1`,
    kind: 'Book',
    metadata: { name: 'second' },
    spec: { isbn: '1' },
  });
  if (rival.status !== 409) throw new Error(`a unique value was taken twice: ${rival.status}`);
  await other.api.expect('DELETE', `${definitionsPath}/books.${group}`);
  await retryUntilTrue(async () => (await one.api.send('GET', path)).status === 404, {
    what: `${one.name} no longer serves the model`,
    timeoutMs: agreementTimeoutMs,
  });
}

async function roleMadeOnOne(one: Version, other: Version, { password, mark }: Mark): Promise<void> {
  const access = new ServiceClient(
    one.services.accessUrl,
    `Bearer ${await logIn(one.services.accessUrl, 'admin', password)}`,
  );
  await access.post('/api/v1/users/users/', {
    username: mark,
    name: mark,
    email: `${mark}@example.com`,
    password: `${password} ${mark}`,
  });
  const login = await logIn(other.services.accessUrl, mark, `${password} ${mark}`);
  await new ServiceClient(one.services.accessUrl, `Bearer ${login}`).get('/api/v1/users/profile/');
  const as = (api: Version): Promise<number> =>
    api.api.send('GET', `${booksPath}?limit=1`, undefined, { 'impersonate-user': mark }).then(({ status }) => status);
  if ((await as(other)) !== 403) throw new Error('a user without a role read objects');
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: mark },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: mark }],
  };
  const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/library/rolebindings';
  await one.api.post(bindings, binding);
  await retryUntilTrue(async () => (await as(other)) === 200, {
    what: `${other.name} knows the role`,
    timeoutMs: agreementTimeoutMs,
  });
  await other.api.expect('DELETE', `${bindings}/${mark}`);
  await retryUntilTrue(async () => (await as(one)) === 403, {
    what: `${one.name} knows that the role is gone`,
    timeoutMs: agreementTimeoutMs,
  });
}

async function tokenMadeOnOne(one: Version, other: Version, { mark }: Mark): Promise<void> {
  const made = await one.api.post(tokensPath, {
    metadata: { name: mark },
    spec: { displayName: mark, expiresAt: '2099-01-01T00:00:00Z' },
  });
  const reader = new ServiceClient(other.services.platformUrl, `Bearer ${String((made['status'] as Json)['token'])}`);
  await reader.get(`${booksPath}/counter`);
  await other.api.expect('PUT', `${tokensPath}/${mark}/actions/revocation`);
  await retryUntilTrue(
    async () =>
      (
        await new ServiceClient(one.services.platformUrl, `Bearer ${String((made['status'] as Json)['token'])}`).send(
          'GET',
          booksPath,
        )
      ).status === 401,
    { what: `${one.name} knows that the token is revoked`, timeoutMs: agreementTimeoutMs },
  );
}

/** The leader of the controllers. */
export async function leader(api: ServiceClient): Promise<string> {
  const { items } = (await api.get('/apis/coordination.k8s.io/v1/leases')) as unknown as {
    items: (ApiObject & { spec: { holderIdentity?: string } })[];
  };
  return items.map(({ spec }) => spec.holderIdentity ?? '').join();
}

/** Checks that controllers work: an owned object is deleted with its owner. */
export async function controllersWork(api: ServiceClient, mark: string): Promise<void> {
  const owner = (await api.post(booksPath, {
    apiVersion: 'upgrade.example.com/v1',
    kind: 'Book',
    metadata: { name: `owner-${mark}` },
  })) as unknown as ApiObject;
  const ownerReferences = [
    { apiVersion: 'upgrade.example.com/v1', kind: 'Book', name: owner.metadata.name, uid: owner.metadata.uid },
  ];
  await api.post(booksPath, {
    apiVersion: 'upgrade.example.com/v1',
    kind: 'Book',
    metadata: { name: `owned-${mark}`, ownerReferences },
  });
  await api.expect('DELETE', `${booksPath}/owner-${mark}`);
  await retryUntilTrue(async () => (await api.send('GET', `${booksPath}/owned-${mark}`)).status === 404, {
    what: 'deleting an owner deletes what it owns',
    timeoutMs: 60_000,
  });
}
