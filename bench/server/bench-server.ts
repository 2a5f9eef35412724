import { ApiServer, type ApiServerOptions } from '../../test/system/harness/process/api-server.ts';
import type { PostgresProcess } from '../../test/system/harness/process/postgres-process.ts';
import { definitionOf, pathOf, type SampleModel } from '../sample-post.ts';

export interface BenchServerOptions extends Pick<ApiServerOptions, 'command' | 'args' | 'preload'> {
  database: PostgresProcess;
  /** A database of the same PostgreSQL; default: the first. */
  databaseName?: string;
  /** Where the server writes its CPU profile at its end. */
  profileFolder?: string | undefined;
}

/** For servers, replicas, and the plain clients of comparisons. */
export const benchSettings = { max_connections: '300' };

/** A server on a database of the bench; its data folder is inside the database's folder. */
export function startServer({
  database,
  databaseName,
  profileFolder,
  ...options
}: BenchServerOptions): Promise<ApiServer> {
  return ApiServer.start({
    ...options,
    parent: database.folder,
    databaseUrl: database.url(databaseName),
    nodeArgs: profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`],
  });
}

/** Resolves when the model is served. */
export async function defineModel(api: ApiServer, model: SampleModel): Promise<void> {
  await api.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: JSON.stringify(definitionOf(model)),
  });
  await api.untilServed(`${pathOf(model)}?limit=1`);
}
