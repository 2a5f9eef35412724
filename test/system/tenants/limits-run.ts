import { ApiClient, type ApiAnswer } from '../harness/client/api-client.ts';
import { ApiServer } from '../harness/process/api-server.ts';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { collectionOf, documentOf, group, plural, type Tenant } from './tenant-model.ts';
import { tenantOf, type TenantsRun } from './tenants-run.ts';

const requestsPerMinute = 300;
/** How many more objects the quota allows than there are. */
const room = 20;
const creates = 30;
const inParallel = 8;
const counted = `count/${plural}.${group}`;

interface QuotaStatus {
  status?: {
    hard?: Record<string, string>;
    used?: Record<string, string>;
    conditions?: { type: string; status: string }[];
  };
}

/**
 * A tenant fills the quota of its namespace, and sends more requests than a minute allows: each is refused with its
 * figures, and another tenant notices nothing.
 */
export async function runLimits(tenants: TenantsRun): Promise<void> {
  const { database } = tenants;
  let api: ApiServer | undefined;
  const client = new ApiClient({ maxConnections: inParallel });
  try {
    api = await ApiServer.start({
      parent: database.folder,
      databaseUrl: database.url(),
      args: [`--svc.api.throttle.user=${requestsPerMinute}`],
    });
    await fillQuota(tenants, api, client);
    await exceedThrottle(tenants, api, client);
  } finally {
    client.close();
    await api?.stop();
  }
}

async function fillQuota(tenants: TenantsRun, api: ApiServer, client: ApiClient): Promise<void> {
  const { report } = tenants;
  const attacker = tenantOf(tenants, 'attacker', api.port);
  const limit = await limitObjects(api, attacker.namespace);
  const run = Date.now().toString(36);
  const answers: ApiAnswer[] = [];
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < creates) answers.push(await createDocument(client, attacker, `quota-${run}-${(next += 1)}`));
  };
  await Promise.all(Array.from({ length: inParallel }, create));
  const made = answers.filter(({ status }) => status === 201);
  report.check(`of ${creates} creates the quota lets ${room} pass`, made.length === room, `${made.length}`);
  const figures = `exceeded quota: tenant, requested: ${counted}=1, used: ${counted}=${limit}, limited: ${counted}=${limit}`;
  const refused = answers.filter(({ status }) => status !== 201);
  const wrong = refused.find(({ status, text }) => status !== 403 || !text.includes(figures));
  report.check(
    'a create beyond the quota is 403, with its figures',
    refused.length > 0 && wrong === undefined,
    wrong === undefined ? 'none was refused' : `${wrong.status} ${wrong.text}`,
  );
  report.say(`quota: ${made.length} of ${creates} creates passed, the others: 403 ... ${figures}`);
  const other = await createDocument(client, tenantOf(tenants, 'neighbour', api.port), `quota-${run}`);
  report.check(
    'the quota of one namespace leaves another alone',
    other.status === 201,
    `${other.status} ${other.text}`,
  );
  await api.fetch(`/api/v1/namespaces/${attacker.namespace}/resourcequotas/tenant`, { method: 'DELETE' });
}

/** Leaves room for some objects more than there are; returns the limit. */
async function limitObjects(api: ApiServer, namespace: string): Promise<number> {
  const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'tenant' } };
  const statusWhen = async (what: string, isReached: (quota: QuotaStatus) => boolean): Promise<QuotaStatus> => {
    let last: QuotaStatus = {};
    await retryUntilTrue(
      async () => {
        last = JSON.parse(await api.fetch(`${quotas}/tenant`)) as QuotaStatus;
        return isReached(last);
      },
      { what, timeoutMs: 60_000, intervalMs: 50 },
    );
    return last;
  };
  const isCounted = ({ status }: QuotaStatus): boolean =>
    status?.conditions?.some(({ type, status: is }) => type === 'Counted' && is === 'True') === true;
  await api.fetch(quotas, { method: 'POST', body: JSON.stringify({ ...quota, spec: { hard: { [counted]: '1M' } } }) });
  const { status } = await statusWhen('the objects of the quota are counted', isCounted);
  const limit = Number(status?.used?.[counted]) + room;
  await api.fetch(`${quotas}/tenant`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: JSON.stringify({ spec: { hard: { [counted]: `${limit}` } } }),
  });
  await statusWhen(
    'the limit of the quota takes force',
    (now) => isCounted(now) && now.status?.hard?.[counted] === `${limit}`,
  );
  return limit;
}

/** A minute may end meanwhile, so it sends up to what two minutes allow. */
async function exceedThrottle(tenants: TenantsRun, api: ApiServer, client: ApiClient): Promise<void> {
  const { report } = tenants;
  const attacker = tenantOf(tenants, 'attacker', api.port);
  let refused: ApiAnswer | undefined;
  let sent = 0;
  const read = async (): Promise<void> => {
    while (refused === undefined && sent < 2 * requestsPerMinute + inParallel) {
      sent += 1;
      const answer = await listDocuments(client, attacker);
      if (answer.status !== 200) refused ??= answer;
    }
  };
  await Promise.all(Array.from({ length: inParallel }, read));
  const retryAfter = Number(refused?.headers['retry-after']);
  report.check(
    `beyond ${requestsPerMinute} requests a minute, a user gets 429 with Retry-After`,
    refused?.status === 429 && retryAfter >= 1 && retryAfter <= 60 && /of one user in a minute/.test(refused.text),
    `${refused?.status} ${refused?.text}, Retry-After: ${retryAfter}`,
  );
  report.say(`throttle: after ${sent} requests 429, Retry-After: ${retryAfter}`);
  const other = await listDocuments(client, tenantOf(tenants, 'neighbour', api.port));
  report.check('the throttle of one user leaves another alone', other.status === 200, `${other.status} ${other.text}`);
}

function createDocument(
  client: ApiClient,
  { port, authorization, namespace }: Tenant,
  name: string,
): Promise<ApiAnswer> {
  return client.request({
    port,
    method: 'POST',
    path: collectionOf(namespace),
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(documentOf(name, { title: name })),
  });
}

function listDocuments(client: ApiClient, { port, authorization, namespace }: Tenant): Promise<ApiAnswer> {
  return client.request({ port, path: `${collectionOf(namespace)}?limit=1`, headers: { authorization } });
}
