import { areas } from './areas/index.ts';
import { unlimitedAccess } from '../harness/process/unlimited-access.ts';
import { prepareAccessUsers, secretsOf, type AccessUsers } from '../harness/client/access-users.ts';
import { accessAreas } from './access/areas/index.ts';
import { caseAt } from './case-at.ts';
import type { AttackArea, FuzzCase } from './fuzz-case.ts';
import { FuzzRun } from './fuzz-run.ts';
import { readAccessState } from './oracles/access-state.ts';
import { accessJudge } from './oracles/judge-access.ts';
import { platformJudge } from './oracles/judge-platform.ts';
import { readPlatformState } from './oracles/platform-state.ts';
import { AttackedServer, type AttackedService } from './server/attacked-server.ts';
import { createFuzzTargets } from './fuzz-targets.ts';

export const serviceNames = ['platform', 'access'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** A run against its own server. */
export interface ServiceRun {
  server: AttackedServer;
  run: Pick<FuzzRun, 'batch' | 'single' | 'finish' | 'report'>;
  caseAt: (number: number) => FuzzCase;
}

export interface ServiceRunOptions {
  seed: string;
  /** Names; those of the other service are ignored. */
  areas: readonly string[];
  concurrency: number;
  dataParent: string;
}

/** One of the two attacked services. */
export interface Service {
  name: ServiceName;
  /** Its share of the total time. */
  share: number;
  areas: readonly string[];
  /** The caller must stop its server. */
  start(options: ServiceRunOptions): Promise<ServiceRun>;
}

const platform: AttackedService = {
  command: 'apiserver',
  portOption: 'svc.server.port',
  options: ['--svc.http.max-wrong-credentials=0'],
  readState: readPlatformState,
  judge: platformJudge,
};
/**
 * Without limits that a run would reach immediately, and without a clock check, so that signatures are valid at any
 * time.
 */
export const accessService: AttackedService = {
  command: 'serve',
  portOption: 'svc.access.port',
  options: [
    '--svc.server.port=0',
    '--svc.server.tls.port=0',
    '--svc.access.tls.port=0',
    ...unlimitedAccess,
    '--svc.access.signature.max-skew=0s',
  ],
  readState: readAccessState,
  judge: accessJudge,
};

export const services: readonly Service[] = [
  {
    name: 'platform',
    share: 2 / 3,
    areas: areas.map(({ name }) => name),
    start: (options) =>
      startRun(options, {
        service: platform,
        areas,
        prepare: (server) => createFuzzTargets((method, path, body) => server.call(method, path, body), server),
      }),
  },
  {
    name: 'access',
    share: 1 / 3,
    areas: accessAreas.map(({ name }) => name),
    start: (options) => startRun(options, { service: accessService, areas: accessAreas, prepare: prepareAccess }),
  },
];

interface Attack<W> {
  service: AttackedService;
  areas: readonly AttackArea<W>[];
  prepare: (server: AttackedServer) => Promise<W>;
}

async function startRun<W>(
  { seed, areas: names, concurrency, dataParent }: ServiceRunOptions,
  { service, areas: all, prepare }: Attack<W>,
): Promise<ServiceRun> {
  const server = await AttackedServer.start(dataParent, service);
  try {
    const source = { seed, areas: all.filter(({ name }) => names.includes(name)), fixtures: await prepare(server) };
    return {
      server,
      run: new FuzzRun({ ...source, target: server, concurrency, slow: true }),
      caseAt: (number) => caseAt(number, source),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function prepareAccess(server: AttackedServer): Promise<AccessUsers> {
  const fixtures = await prepareAccessUsers({
    accessPort: server.port,
    adminPassword: () => Promise.resolve(server.adminPassword),
    createPrivateToken: (username) => server.command('private-token', 'create', `--user=${username}`),
  });
  server.token = fixtures.token;
  server.secrets = [...server.secrets, ...secretsOf(fixtures)];
  return fixtures;
}
