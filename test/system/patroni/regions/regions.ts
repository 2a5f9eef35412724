import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { newPersonalToken } from '#pkg/identity/index';
import { LoopbackAddresses } from '../../harness/process/loopback.ts';
import { errorLines } from '../../harness/process/server-log.ts';
import { untilInterrupted } from '../../harness/run/run-main.ts';
import { findLosses } from '../cluster/losses.ts';
import type { Gap } from '../cluster/newest-gap.ts';
import { database } from '../cluster/patroni-cluster.ts';
import type { CaseOptions } from '../cluster/on-servers.ts';
import type { PatroniNode } from '../cluster/patroni-node.ts';
import { keepLog, SupervisedServer } from '../cluster/supervised-server.ts';
import { loseRegion, switchRegion, type Roles, type Takeover } from './change-region.ts';
import { RegionClients } from './region-clients.ts';
import { regionLine, regionLines, type RegionChange, type RegionChangeKind } from './region-table.ts';
import { Region } from './region.ts';
import { checkRefusal, rejoinFenced, rejoinUnfenced, untilFollowing } from './rejoin-region.ts';

const warmUpMs = 3000;
/** A round has three switchovers and a loss. */
const changesOfRound = 5;

/** Two regions, one of which is a standby cluster of the other, with clients that svc serves from one of them. */
export async function regions({ folder: parent, seed, count, report }: CaseOptions): Promise<void> {
  const folder = join(parent, 'regions');
  await mkdir(folder, { recursive: true });
  const rounds = Math.max(1, Math.floor(count / changesOfRound));
  report.say(`${rounds} rounds: to the other region and back, the loss of a region, its return, and back`);
  const run = new RegionsRun({ folder, seed, report });
  try {
    await untilInterrupted(run.run(rounds));
  } finally {
    await run.stop();
  }
  for (const { name, logFile, ends } of run.servers) {
    const wrong = await errorLines(logFile);
    report.check(`${name} logs no error`, wrong.length === 0, wrong.slice(0, 3).join('; '));
    report.check(`${name} does not end by itself`, ends.length === 0, ends.map(({ status }) => status).join(', '));
  }
}

class RegionsRun {
  readonly servers: SupervisedServer[] = [];
  readonly #options: Pick<CaseOptions, 'folder' | 'seed' | 'report'>;
  readonly #token = newPersonalToken();
  readonly #regions: Region[] = [];
  readonly #changes: RegionChange[] = [];
  readonly #takeovers: { began: number; gap: Gap }[] = [];
  #clients: RegionClients | undefined;
  /** Revisions of acknowledged writes that are known to be lost, or kept. */
  readonly #judged = new Set<number>();
  #isStopped = false;

  constructor(options: Pick<CaseOptions, 'folder' | 'seed' | 'report'>) {
    this.#options = options;
  }

  async run(rounds: number): Promise<void> {
    const { seed, report } = this.#options;
    const addresses = new LoopbackAddresses();
    const a = await this.#startRegion({ name: 'a', addresses });
    await prepareDatabase(a);
    const b = await this.#startRegion({ name: 'b', addresses, standbyOf: a });
    await untilFollowing(b.nodes, a);
    const server = await this.#startServer(a);
    this.#clients = await RegionClients.start(server, { token: this.#token, seed });
    let roles: Roles = { active: a, other: b, server };
    for (let round = 0; round < rounds; round += 1) {
      roles = await this.#switch(roles);
      roles = await this.#switch(roles);
      roles = await this.#lose(roles, { isFenced: round % 2 === 0 });
      roles = await this.#switch(roles);
    }
    await delay(warmUpMs);
    await this.#clients.stopWriters();
    for (const line of regionLines(this.#changes)) report.say(line);
    await this.#judge(roles);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#clients?.stop();
    for (const server of this.servers) await server.stop();
    for (const region of this.#regions) await region.kill();
  }

  async #startRegion(options: { name: string; addresses: LoopbackAddresses; standbyOf?: Region }): Promise<Region> {
    const region = await Region.start({ ...options, folder: this.#options.folder });
    this.#regions.push(region);
    if (this.#isStopped) await region.kill();
    return region;
  }

  async #startServer(region: Region): Promise<SupervisedServer> {
    const server = await SupervisedServer.start({
      name: `svc in ${region.name}, ${this.servers.length + 1}`,
      folder: this.#options.folder,
      databaseUrl: region.url,
      token: this.#token,
      args: [keepLog],
    });
    this.servers.push(server);
    if (this.#isStopped) await server.stop();
    return server;
  }

  async #switch(roles: Roles): Promise<Roles> {
    const { active, other } = roles;
    return this.#change('switchover', roles, {
      takeOver: (options) => switchRegion(roles, options),
      rejoin: async () => {
        const began = performance.now();
        await active.launch();
        await untilFollowing(active.nodes, other);
        return performance.now() - began;
      },
    });
  }

  async #lose(roles: Roles, { isFenced }: { isFenced: boolean }): Promise<Roles> {
    const { report } = this.#options;
    return this.#change('loss', roles, {
      takeOver: (takeover) => loseRegion(roles, takeover),
      rejoin: (primary) => {
        const options = { former: roles.active, primary, active: roles.other, report };
        return isFenced ? rejoinFenced(options) : rejoinUnfenced(options);
      },
    });
  }

  async #change(
    kind: RegionChangeKind,
    { active, other }: Roles,
    how: {
      takeOver: (options: {
        clients: RegionClients;
        startServer: (region: Region) => Promise<SupervisedServer>;
      }) => Promise<Takeover>;
      rejoin: (primary: PatroniNode) => Promise<number>;
    },
  ): Promise<Roles> {
    const { folder, report } = this.#options;
    await delay(warmUpMs);
    const clients = this.#clients!;
    const { began, gap, steps, former, server } = await how.takeOver({
      clients,
      startServer: (region) => this.#startServer(region),
    });
    this.#takeovers.push({ began, gap });
    const lost = await this.#countLost(other);
    if (kind === 'switchover') report.check('a switchover of regions loses nothing', lost === 0, `${lost} writes`);
    const rejoin = await how.rejoin(former);
    await checkRefusal(active, { folder, report });
    const change = { kind, steps: { ...steps, rejoin }, lost };
    this.#changes.push(change);
    report.say(regionLine(change));
    return { active: other, other: active, server };
  }

  /** Of the writes that were acknowledged since the last change. */
  async #countLost(region: Region): Promise<number> {
    const acknowledged = this.#clients!.acknowledged.filter(({ revision }) => !this.#judged.has(revision));
    const log = await readRevisions(region);
    for (const { revision } of acknowledged) this.#judged.add(revision);
    return acknowledged.filter(({ revision }) => !log.has(revision)).length;
  }

  /** A loss must be the newest part of what was acknowledged, and whoever saw it must be told. */
  async #judge({ active, other }: Roles): Promise<void> {
    const { report } = this.#options;
    const { acknowledged, followers } = this.#clients!;
    const stray = await this.#clients!.strayFollowers(active);
    report.check('every follower holds what the database holds', stray.length === 0, stray.join(', '));
    const contradictions = followers.flatMap((follower) => follower.contradictions);
    report.check('no follower received an impossible event', contradictions.length === 0, contradictions[0]);
    const log = await readRevisions(active);
    const { lost, resets, violations } = findLosses({
      servers: [{ name: 'svc', acknowledged, followers }],
      changes: this.#takeovers,
      log,
    });
    report.say(`  ${acknowledged.length} writes acknowledged, ${lost.length} lost; ${resets} watches answered 410`);
    report.check(
      'only the newest writes are lost, and exactly the watches that saw them are told',
      violations.length === 0,
      `${violations.length}: ${violations.slice(0, 5).join('; ')}`,
    );
    const counted = this.#changes.reduce((sum, change) => sum + change.lost, 0);
    report.check('a write that survived a change is never lost later', counted === lost.length, `${counted}`);
    await untilFollowing(other.nodes, active);
    const copy = await readRevisions(other);
    const missing = [...log].filter((revision) => !copy.has(revision)).length;
    report.check(
      'the other region has the same history',
      missing === 0 && copy.size === log.size,
      `${missing} missing`,
    );
  }
}

async function prepareDatabase(region: Region): Promise<void> {
  const client = await region.connect('postgres');
  try {
    await client.query(`CREATE ROLE svc LOGIN PASSWORD 'choose-another-5'`);
    await client.query(`CREATE DATABASE ${database} OWNER svc`);
  } finally {
    await client.end();
  }
  await region.query('CREATE SCHEMA probe');
  await region.query('CREATE TABLE probe.commits (at timestamptz)');
}

async function readRevisions(region: Region): Promise<Set<number>> {
  const rows = await region.query<{ rev: string }>('SELECT rev FROM platform.change_log');
  return new Set(rows.map(({ rev }) => Number(rev)));
}
