import { defineModel, startServer } from '../server/bench-server.ts';
import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import {
  bindRoles,
  loginBody,
  newIdentity,
  type UserIdentity,
} from '../../test/system/harness/client/user-identity.ts';
import { bareContender, runComparison, targetContender, type BenchRun, type WindowTarget } from '../bench-run.ts';
import { rateOf } from '../report/comparison.ts';
import { ratioGoal } from '../report/goals.ts';
import type { LoadJob } from '../load/load.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { group, modelOfSize, pathOf, postText } from '../sample-post.ts';
import type { Sample } from '../report/sample.ts';
import { number } from '../../test/system/harness/run/table.ts';
import { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';

const databaseName = 'credentials';
const connections = 64;
const bindings = 20;
const objects = 100;
/** Concurrent logins: one for each user, because those of one user wait for each other. */
const loginConnections = 4;
/** Answered from memory, so that the credential check dominates. */
const accessPath = '/api/v1/rbac/roles/';
const platformPath = '/api';
/** Needs no credential, but checks one that is sent. */
const openPath = '/docs';
const express = 'bare express, from memory';
const unlimited = [
  '--svc.access.throttle.user=1000000000',
  '--svc.access.throttle.anonymous=1000000000',
  '--svc.security.basic-auth.disabled=false',
];

interface Credentials {
  run: BenchRun;
  api: ApiServer;
  identity: UserIdentity;
}

/**
 * The cost of authentication and authorization: with every credential, on both services; and the effect of logins on
 * other users.
 */
export async function benchCredentials(run: BenchRun): Promise<void> {
  const { database, options } = run;
  await database.create(databaseName);
  const api = await startServer({
    database,
    databaseName,
    command: 'serve',
    args: unlimited,
    profileFolder: options.profileFolder,
  });
  try {
    const identity = await newIdentity(api, 'reader');
    const others = [];
    for (let i = 1; i < loginConnections; i += 1) others.push((await newIdentity(api, `login-${i}`)).username);
    const parts = { run, api, identity };
    await checksOnAccess(parts);
    await checksOnPlatform(parts);
    const paths = await readableObjects(parts);
    await benchBoundReads(parts, paths);
    await benchLogins(parts, paths, [identity.username, ...others]);
  } finally {
    await api.stop();
  }
}

/** Requests to one of the server's ports with these header lines. */
function windowOf(
  { run, api }: Credentials,
  { port, paths, lines }: { port: number; paths: string[]; lines: string },
): WindowTarget {
  return {
    port,
    authorization: lines,
    processes: { server: api.pid, postmaster: run.database.postmaster },
    connections,
    plan: () => ({ type: 'get', paths }),
  };
}

async function bodiesOf(port: number, paths: readonly string[], lines: string): Promise<Map<string, string>> {
  const headers = Object.fromEntries(lines.split('\r\n').map((line) => line.split(': ', 2) as [string, string]));
  const bodies = new Map<string, string>();
  for (const path of paths)
    bodies.set(path, await (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).text());
  return bodies;
}

async function checksOnAccess(parts: Credentials): Promise<void> {
  const { run, api, identity } = parts;
  const port = api.accessPort;
  await run.express.answer(await bodiesOf(port, [accessPath], identity.bearer));
  const by = (name: string, lines: () => string) =>
    targetContender(run, name, () => windowOf(parts, { port, paths: [accessPath], lines: lines() }));
  await runComparison(run, `access management, GET ${accessPath}, c=${connections}`, [
    bareContender(run, express, run.express, { connections, plan: () => ({ type: 'get', paths: [accessPath] }) }),
    by('Signature', () => identity.signature('GET', accessPath)),
    by('Token', () => identity.privateToken),
    by('Bearer', () => identity.bearer),
    by('session', () => identity.session),
  ]);
}

async function checksOnPlatform(parts: Credentials): Promise<void> {
  const { run, api, identity } = parts;
  const { port } = api;
  await run.express.answer(await bodiesOf(port, [platformPath], identity.pat));
  const by = (name: string, lines: string, path = platformPath) =>
    targetContender(run, name, () => windowOf(parts, { port, paths: [path], lines }));
  await runComparison(run, `content platform, GET ${platformPath}, c=${connections}`, [
    bareContender(run, express, run.express, { connections, plan: () => ({ type: 'get', paths: [platformPath] }) }),
    by('pat_', identity.pat),
    by('pat_ narrowed to a role', identity.narrowedPat),
    by('Basic, cached', identity.basic),
    by('session', identity.session),
  ]);
}

async function readableObjects({ api, identity }: Credentials): Promise<string[]> {
  const model = modelOfSize(1000);
  await defineModel(api, model);
  const paths: string[] = [];
  for (let i = 0; i < objects; i += 1) {
    await api.fetch(pathOf(model), {
      method: 'POST',
      body: postText(model, { name: `post-${i}`, number: i, title: 'A morning' }),
    });
    paths.push(`${pathOf(model)}/post-${i}`);
  }
  await bindRoles(api, identity.username, { count: bindings, group, plural: model.plural });
  return paths;
}

/** Reads one object by name, as a user whose last of many roles allows it. */
async function benchBoundReads(parts: Credentials, paths: string[]): Promise<void> {
  const { run, api, identity } = parts;
  const { port } = api;
  const bodies = await bodiesOf(port, paths, api.authorization);
  await run.express.answer(bodies);
  const by = (name: string, lines: string, asked = paths) =>
    targetContender(run, name, () => windowOf(parts, { port, paths: asked, lines }));
  const scenario = `GET one object (${Buffer.byteLength(bodies.get(paths[0]!)!)} B), c=${connections}`;
  const compared = await runComparison(run, scenario, [
    by(`pat_ of a user with ${bindings} role bindings`, identity.pat),
    by('pat_ of an administrator', api.authorization),
    bareContender(run, express, run.express, { connections, plan: () => ({ type: 'get', paths }) }),
  ]);
  ratioGoal(run.report, `GET one object, c=${connections}, with ${bindings} role bindings`, compared, {
    to: express,
    atLeast: 1,
  });
  const checked = await runComparison(run, `GET ${openPath}, open to all, c=${connections}`, [
    by('without a credential', '', [openPath]),
    by('pat_', identity.pat, [openPath]),
  ]);
  const [bound, free, none, some] = [...compared.slice(0, 2), ...checked].map(
    ({ sample }) => (sample.cpu.server + sample.cpu.postgres) * 1000,
  ) as [number, number, number, number];
  const share = (part: number): string =>
    `${number(part)} of ${number(bound)} µs of processor time, ${number((part / bound) * 100)} %`;
  run.report.figure({ scenario, who: 'who asks: with a credential, less without', note: share(some - none) });
  run.report.figure({ scenario, who: 'may they: by roles, less an administrator', note: share(bound - free) });
}

/** Logins alone; reads alone; and reads during continuous logins. */
async function benchLogins({ run, api, identity }: Credentials, paths: string[], usernames: string[]): Promise<void> {
  const { report, options, database } = run;
  const processes = { server: api.pid, postmaster: database.postmaster };
  const logins = new WorkerProcess<LoadJob, Sample>(new URL('../load/load.ts', import.meta.url));
  const plan: RequestPlan = { type: 'post', path: '/api/v1/authentication/auth/', bodies: usernames.map(loginBody) };
  const logIn = (): Promise<Sample> =>
    logins.run({
      port: api.accessPort,
      authorization: '',
      connections: loginConnections,
      plan,
      warmUpSeconds: options.warmUpSeconds,
      seconds: options.seconds,
      processes,
    });
  const read = (): Promise<Sample> =>
    run.loader.run({
      port: api.port,
      authorization: identity.pat,
      connections,
      plan: { type: 'get', paths },
      warmUpSeconds: options.warmUpSeconds,
      seconds: options.seconds,
      processes,
    });
  const reportLoad = (who: string, sample: Sample): void => {
    const { p50, p99, errors, failure } = sample;
    report.figure({ scenario: 'logins', who, perSecond: rateOf(sample), p50, p99 });
    if (errors > 0) report.fail(`logins, ${who}: ${errors} errors, the first: ${failure ?? ''}`);
  };
  try {
    reportLoad(`logins alone, c=${loginConnections}`, await logIn());
    reportLoad(`GET one object alone, c=${connections}`, await read());
    const [reads, beside] = await Promise.all([read(), logIn()]);
    reportLoad(`GET one object beside logins, c=${connections}`, reads);
    reportLoad(`logins beside GET one object, c=${loginConnections}`, beside);
  } finally {
    logins.stop();
  }
}
