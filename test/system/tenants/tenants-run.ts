import { ApiServer } from '../harness/process/api-server.ts';
import { PostgresProcess } from '../harness/process/postgres-process.ts';
import { newIdentity } from '../harness/client/user-identity.ts';
import type { CheckReport } from '../harness/run/check-report.ts';
import { prepareTenants, type Tenant } from './tenant-model.ts';
import type { TenantsOptions } from './tenants-options.ts';

/** Each has a namespace of that name. */
const tenantNames = ['attacker', 'neighbour', 'leader'] as const;
export type TenantName = (typeof tenantNames)[number];

/** What all parts of a run share. */
export interface TenantsRun {
  options: TenantsOptions;
  database: PostgresProcess;
  /** Authorization headers. */
  tokens: Readonly<Record<TenantName, string>>;
  report: CheckReport;
}

export function tenantOf({ tokens }: TenantsRun, name: TenantName, port: number): Tenant {
  return { port, authorization: tokens[name], namespace: name };
}

/** Creates users, tokens and namespaces with a server with access management, which the tested servers lack. */
export async function prepareTokens(database: PostgresProcess): Promise<TenantsRun['tokens']> {
  const api = await ApiServer.start({ parent: database.folder, databaseUrl: database.url(), command: 'serve' });
  try {
    const pat = async (username: string): Promise<string> =>
      (await newIdentity(api, username)).pat.slice('Authorization: '.length);
    const tokens = { attacker: await pat('attacker'), neighbour: await pat('neighbour'), leader: await pat('leader') };
    await prepareTenants(api, tenantNames);
    return tokens;
  } finally {
    await api.stop();
  }
}
